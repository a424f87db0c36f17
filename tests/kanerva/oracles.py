"""Second computations of the memory in numpy float64, slow and plain: no torch, nothing shared with the library.

Matrices of one memory: R[i] is [D, M], V[i] is [M, M]; w and eta are per item t and machine i. vec stacks columns.
"""

from typing import NamedTuple

import numpy as np


def vec(matrix):
    return matrix.T.reshape(-1)


def unvec(vector, dim):
    return vector.reshape(-1, dim).T


# ------------------------------------------------------------------------------------------------- addressing


def least_squares(R, z, strength=0.35):
    """min |z - R w|^2 + lambda |w|^2, as ordinary least squares with lambda's rows added below."""
    augmented = np.vstack([R, np.sqrt(strength) * np.eye(R.shape[1])])
    return np.linalg.lstsq(augmented, np.concatenate([z, np.zeros(R.shape[1])]), rcond=None)[0]


def gammas(eta):
    return (1 / eta**2) / (1 / eta**2).sum()


# ------------------------------------------------------------------------------------------------- Algorithms 1, 2


class Episode(NamedTuple):
    R: list
    V: list
    w: np.ndarray  # [T, K, M]
    states: list  # (R, V) after each item


def product_step(R, V, z, w, eta, gamma):
    """The two inner loops of Algorithm 1, one number at a time."""
    dim, columns = R[0].shape
    delta = np.array(z, dtype=float)
    for machine, here, weight in zip(R, w, gamma, strict=True):
        for d in range(dim):
            delta[d] -= weight * sum(machine[d, n] * here[n] for n in range(columns))
    new_R, new_V = [], []
    for i in range(len(R)):
        vw = [sum(V[i][a, b] * w[i][b] for b in range(columns)) for a in range(columns)]
        beta = 1 / (sum(w[i][a] * vw[a] for a in range(columns)) + eta[i] ** 2)
        r, v = R[i].copy(), V[i].copy()
        for a in range(columns):
            for b in range(columns):
                v[a, b] -= beta * vw[a] * vw[b]
            for d in range(dim):
                r[d, a] += delta[d] * beta * vw[a]
        new_R.append(r)
        new_V.append(v)
    return new_R, new_V


def mixture_step(R, V, z, w, sigma, chosen):
    """Equations 61 and 62, machine by machine."""
    new_R, new_V = [], []
    for r, v, here, noise, g in zip(R, V, w, sigma, chosen, strict=True):
        row = here @ v / (here @ v @ here + noise**2)
        new_V.append(v - g * np.outer(v @ here, row))
        new_R.append(r + g * np.outer(z - r @ here, row))
    return new_R, new_V


def independent_step(R, V, z, w, eta, gamma):
    """k Kanerva Machines that do not know of each other, Equations 26 and 27."""
    return mixture_step(R, V, z, w, eta, np.ones(len(R)))


STEPS = {"product": product_step, "independent": independent_step, "mixture": mixture_step}


def write(R, V, codes, eta, gamma, coupling="product", w=None, noise=None):
    """Algorithm 1 on one memory; codes [T, D], eta and gamma [T, K], addresses or their noise [T, K, M]."""
    used, states = [], []
    for t, z in enumerate(codes):
        here = [least_squares(r, z) for r in R] if w is None else w[t]
        used.append(here)
        if noise is not None:
            here = [each + added for each, added in zip(here, noise[t], strict=True)]
        R, V = STEPS[coupling](R, V, z, here, eta[t], gamma[t])
        states.append((R, V))
    return Episode(R, V, np.array(used), states)


def read(R, queries, gamma):
    """Algorithm 2 on one memory: answers [N, D] and what each machine says [N, K, D]."""
    answers, parts = [], []
    for z, weights in zip(queries, gamma, strict=True):
        said = [r @ least_squares(r, z) for r in R]
        parts.append(said)
        answers.append(sum(weight * part for weight, part in zip(weights, said, strict=True)))
    return np.array(answers), np.array(parts)


# ------------------------------------------------------------------------------------------------- brute force


def posterior(R0, V0, w, codes, eta):
    """N(vec(M)) of one machine given all items at once, by Bayesian linear regression on D M unknowns.

    z_t = (w_t^T x I) vec(M) + eta_t e. Returns the mean [D, M] and the full covariance [D M, D M].
    """
    dim = R0.shape[0]
    before = np.linalg.inv(np.kron(V0, np.eye(dim)))
    precision, weighted = before.copy(), before @ vec(R0)
    for here, z, noise in zip(w, codes, eta, strict=True):
        design = np.kron(here[None], np.eye(dim))
        precision += design.T @ design / noise**2
        weighted += design.T @ z / noise**2
    covariance = np.linalg.inv(precision)
    return unvec(covariance @ weighted, dim), covariance


def joint(R, V, w, eta):
    """Mean and covariance of (z, vec(M)) for one machine, Equations 28 to 31."""
    dim = R.shape[0]
    design, prior = np.kron(w[None], np.eye(dim)), np.kron(V, np.eye(dim))
    upper = design @ prior @ design.T + eta**2 * np.eye(dim)
    covariance = np.block([[upper, design @ prior], [prior @ design.T, prior]])
    return np.concatenate([R @ w, vec(R)]), covariance


def product_of_joints(R, V, w, eta):
    """Information vector and precision of (z, vec(M_1), .., vec(M_k)) under Equation 37, in full."""
    dim, columns = R[0].shape
    size = dim * columns
    total = dim + len(R) * size
    precision, weighted = np.zeros((total, total)), np.zeros(total)
    for i, machine in enumerate(zip(R, V, w, eta, strict=True)):
        mean, covariance = joint(*machine)
        own = np.linalg.inv(covariance)
        places = np.concatenate([np.arange(dim), dim + i * size + np.arange(size)])
        precision[np.ix_(places, places)] += own
        weighted[places] += own @ mean
    return weighted, precision


def exact_posterior(R, V, w, eta, z):
    """All machines given z under Equation 37: means [K][D, M] and the covariance of all of them together."""
    dim = R[0].shape[0]
    weighted, precision = product_of_joints(R, V, w, eta)
    covariance = np.linalg.inv(precision[dim:, dim:])
    means = covariance @ (weighted[dim:] - precision[dim:, :dim] @ z)
    return [unvec(part, dim) for part in np.split(means, len(R))], covariance


def expected_code(R, covariances, w, eta):
    """Mean and full covariance of z when all machines are drawn and z from the normalised product of likelihoods.

    covariances: of vec(M_i), [D M, D M] each.
    """
    dim = R[0].shape[0]
    precision = sum(1 / noise**2 for noise in eta)
    mean, covariance = np.zeros(dim), np.eye(dim) / precision
    for r, full, here, noise in zip(R, covariances, w, eta, strict=True):
        pull = np.kron(here[None], np.eye(dim)) / noise**2 / precision
        mean = mean + pull @ vec(r)
        covariance = covariance + pull @ full @ pull.T
    return mean, covariance
