"""What the product and the mixture have in common: images are encoded, written, read and decoded."""

import math
from collections.abc import Callable
from typing import ClassVar, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from mini_lib.errors import UsageError, check_names, check_positive_int
from mini_lib.kanerva.memory import (
    RIDGE,
    MachineWeights,
    Prior,
    ReadResult,
    State,
    WriteResult,
    address_kl,
    episode_kl,
    history_kl,
    initial_means,
    read,
    write_episode,
)
from mini_lib.kanerva.models.assignment import History
from mini_lib.kanerva.models.noise import Noise, Normal, Shapes, by_item, draw_noise, pick, stack_items

SAMPLES = ("mean", "full")
CHI = 0.3  # standard deviation of addresses to start from


class EpisodeMemory(NamedTuple):
    """A network's memory of the items that were written."""

    state: State  #: the machines.
    omega: Float[Tensor, "B Q"]  #: the mean that the history is drawn from.
    items: int  #: how many there were.


class EpisodeWrite(NamedTuple):
    """What `Kanerva.write` returns: the memory, and the way to it; the rest as in `KanervaTrace`, of T items."""

    memory: EpisodeMemory
    written: WriteResult
    shares: Float[Tensor, "B T K"]
    h: Float[Tensor, "B T L"]
    kl: dict[str, Tensor]


class EpisodeRead(NamedTuple):
    """What `Kanerva.read` returns for N queries; all as in `KanervaTrace`."""

    reading: ReadResult
    weights: MachineWeights
    shares: Float[Tensor, "B N K"]
    h: Float[Tensor, "B L"]
    kl: dict[str, Tensor]


class KanervaTrace(NamedTuple):
    """Everything that happens while an episode is written and read."""

    logits: Float[Tensor, "B T C H W"]  #: of the pixels that are read out.
    #: logits of the codes themselves, without a memory; no items unless requested.
    autoencoded: Float[Tensor, "B ... C H W"]
    codes: Float[Tensor, "B T D"]  #: z, of the images.
    queries: Float[Tensor, "B T D"]  #: z of the queries.
    #: states from the prior to the last, addresses w, eta and gamma of each item; see `WriteResult`.
    written: WriteResult
    reading: ReadResult  #: mu_z, each machine's answer, addresses; see `ReadResult`.
    weights: MachineWeights  #: eta and gamma at reading. [B, T, K] each
    #: each machine's share of every item, written and then asked for: gamma, or a mixture's probabilities.
    shares: Float[Tensor, "B 2*T K"]
    h: Float[Tensor, "B T L"]  #: the history variable that each item was written with.
    h_read: Float[Tensor, "B L"]  #: the one that all queries were read with.
    omega: Float[Tensor, "B Q"]  #: the mean of the whole episode.
    #: divergences in nats, all machines together: "memory" [B], of an episode; "address", "history" and (not
    #: of a mixture) "assignment" [B, T], of each item's writing; "address_read" and "assignment_read" [B, T],
    #: of each query; "history_read" [B].
    kl: dict[str, Tensor]

    @property
    def memory(self) -> EpisodeMemory:
        """The memory after the episode."""
        return EpisodeMemory(self.written.state, self.omega, self.codes.shape[1])


class Kanerva(nn.Module):
    """An encoder, K machines, a decoder, and all that is learned with them.

    Learned are both networks for images, the prior means R_0 and ln psi (V_0 = psi I), ln chi of each machine, the
    assignment network and the history. Subclasses set `coupling`, how an item moves the machines (see
    `memory.writing`), and `assignments`, what makes by name a module with `noise_name`, `features`, `weights` and,
    where it has one, `divergence`; see `AssignmentNetwork`.

    They make up the inference model of Equations 11 and 12: q(h | z) is the history, q(r | z, h) the assignment,
    q(w | z) least squares, and q(M | z, w, r) writing. The generative model of Equations 6 and 8 to 10 has N(0, I)
    as prior of h and of w, p(r | h), which is the assignment's too, and N(vec(R_0), psi I) as prior of M.

    `forward`, `write` and `read` take `noise`, the random tensors that `noise_shapes` names. Where none is passed,
    they are drawn from PyTorch's own generator while training; in evaluation mode every variable is at its mean.

    Args:
        encoder: images to codes; see `models.images`.
        decoder: codes to logits.
        dim: D, features of a code, the paper's c.
        machines: K, the paper's k.
        columns: M, of each machine, the paper's m_i.
        assignment: "learned", or in a product "unit prior", learned against N(0, 1) as prior of u; "given": the
            noise named "given" says which machine has an item; or "even": all machines always count alike. See
            `AssignmentNetwork`, `GivenAssignment` and `EvenAssignment`.
        stop_grad_r: nothing is learned through r; the assignment network stays as it was initialized (Figure 2C).
        ridge: lambda of the addressing.
        sample: addresses at their "mean" (Figures 1, 2, 4 and 5), where chi counts in their divergence alone, or, in
            the "full" model (the other figures), drawn with the standard deviation chi, for writing and reading.
    """

    coupling: ClassVar[str]
    assignments: ClassVar[dict[str, Callable[[int, int, int, bool], nn.Module]]]

    def __init__(
        self,
        encoder: nn.Module,
        decoder: nn.Module,
        dim: int,
        machines: int,
        columns: int,
        *,
        assignment: str = "learned",
        stop_grad_r: bool = False,
        ridge: float = RIDGE,
        sample: str = "mean",
    ):
        super().__init__()
        check_names("assignment", [assignment], self.assignments)
        check_names("sample", [sample], SAMPLES)
        check_positive_int(dim=dim, machines=machines, columns=columns)
        if not 0 < ridge < math.inf:
            raise UsageError(f"ridge (lambda) has to be above 0, got {ridge!r}")
        for network in (encoder, decoder):
            if getattr(network, "dim", dim) != dim:
                kind = type(network).__name__
                raise UsageError(f"this {kind} has codes of {network.dim} features, not {dim}")
        self.dim, self.machines, self.columns = dim, machines, columns
        self.sample, self.solving = sample, {"ridge": ridge}
        self.encoder, self.decoder = encoder, decoder
        self.history = History(dim, machines)
        self.prior_means = nn.Parameter(initial_means(machines, dim, columns))  # R_0
        self.log_psi = nn.Parameter(torch.zeros(machines))
        self.log_chi = nn.Parameter(torch.full((machines,), CHI).log())
        self.assignment = self.assignments[assignment](dim, machines, self.history.size, stop_grad_r)

    @property
    def writing(self) -> dict:
        """`write_episode`'s options."""
        return {"coupling": self.coupling, "psi": self.prior.psi, **self.solving}

    @property
    def prior(self) -> Prior:
        """The machines before anything is written."""
        return Prior(self.prior_means, self.log_psi.exp())

    @property
    def chi(self) -> Float[Tensor, "K"]:
        """Standard deviation of each machine's addresses."""
        return self.log_chi.exp()

    def noise_shapes(self, batch: int, items: int) -> Shapes:
        """The random tensors of a forward pass over B episodes of T items, by name, and their shapes.

        "history" and "assignment" (in a mixture "gumbel") are of writing, the same names with "_read" of reading;
        "address" and "address_read" where addresses are drawn.
        """
        shapes = {"history": (batch, items, self.history.size), "history_read": (batch, self.history.size)}
        for end in ("", "_read"):
            shapes[self.assignment.noise_name + end] = (batch, items, self.machines)
            if self.sample == "full":
                shapes["address" + end] = (batch, items, self.machines, self.columns)
        return shapes

    def noise(
        self,
        batch: int,
        items: int,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
    ) -> dict[str, Tensor]:
        """The random tensors of a forward pass, drawn in the order of `noise_shapes`; see `draw_noise`."""
        return draw_noise(self.noise_shapes(batch, items), generator, device)

    def empty(self, batch: int) -> EpisodeMemory:
        """B memories at their prior."""
        omega = self.prior_means.new_zeros(batch, self.history.width)
        return EpisodeMemory(self.prior.state(batch), omega, 0)

    def forward(
        self,
        images: Float[Tensor, "B T C H W"],
        queries: Float[Tensor, "B N C H W"] | None = None,
        noise: Noise | None = None,
        *,
        autoencode: bool = False,
        **how,
    ) -> KanervaTrace:
        """Write all images of an episode, 0 or 1, then read at all its queries, one for each image.

        Queries are by default the images themselves, which are then encoded once. With `autoencode` the codes
        themselves are decoded too. `how` is what the assignment takes besides: `tau` of a mixture.
        """
        if queries is not None and queries.shape != images.shape:
            raise UsageError(f"queries {[*queries.shape]} have to be of the images' shape {[*images.shape]}")
        batch, items = images.shape[:2]
        check_positive_int(episodes=batch, items=items)
        if queries is None:
            codes = query_codes = self.encoder(images)  # z [B, T, D]
        else:
            codes, query_codes = self.encoder(torch.cat([images, queries])).chunk(2)
        noise = self._noise_for(codes, noise)
        write = self.write(codes, noise, **how)
        answer = self.read(write.memory, query_codes, noise, **how)
        decoded = torch.cat([answer.reading.codes, codes], dim=1) if autoencode else answer.reading.codes
        logits = self.decoder(decoded)
        return KanervaTrace(
            logits=logits[:, :items],
            autoencoded=logits[:, items:],
            codes=codes,
            queries=query_codes,
            written=write.written,
            reading=answer.reading,
            weights=answer.weights,
            shares=torch.cat([write.shares, answer.shares], dim=1),
            h=write.h,
            h_read=answer.h,
            omega=write.memory.omega,
            kl=write.kl | answer.kl,
        )

    def write(
        self,
        codes: Float[Tensor, "B T D"],
        noise: Noise | None = None,
        memory: EpisodeMemory | None = None,
        **how,
    ) -> EpisodeWrite:
        """Write T codes, into an empty memory unless one is given (Algorithm 1)."""
        batch, items = codes.shape[:2]
        check_positive_int(items=items)
        memory = self.empty(batch) if memory is None else memory
        noise = self._noise_for(codes, noise)
        features = self.assignment.features(codes)  # MLP_1(z) [B, T, K]
        q, h, weights, omega = self.assign(codes, features, memory, noise, **how)
        added = self._address_noise(noise, codes, "address")
        written = write_episode(memory.state, codes, weights, noise=added, **self.writing)
        kl = {
            "memory": episode_kl(written, self.prior).sum(-1),
            "address": address_kl(written.w, self.chi).sum(-1),
            "history": history_kl(*q),
        }
        after = EpisodeMemory(written.state, omega, memory.items + items)
        kl |= self._assignment_kl("assignment", features, h)
        return EpisodeWrite(after, written, self._shares(weights, features, h), h, kl)

    def assign(
        self,
        codes: Float[Tensor, "B T D"],
        features: Float[Tensor, "B T K"],
        memory: EpisodeMemory,
        noise: Noise | None,
        **how,
    ) -> tuple[Normal, Float[Tensor, "B T L"], MachineWeights, Float[Tensor, "B Q"]]:
        """q(h | z_1..t-1) of T codes in order, the h drawn from it, eta and gamma, and the last Omega.

        This depends on the codes and on the history, not on the machines' state: so it is worked out before writing.
        """
        batch, items = codes.shape[:2]
        shapes = self.noise_shapes(batch, items)
        h_noise = by_item(pick(noise, shapes, "history"), items)
        r_noise = by_item(pick(noise, shapes, self.assignment.noise_name), items)
        omega = memory.omega  # [B, Q]
        posteriors, variables, weights = [], [], []
        for t, z in enumerate(codes.unbind(1)):  # z [B, D]
            q = self.history(omega)  # q(h | z_1..t-1)
            h = q.draw(h_noise[t])  # [B, L]
            item = self.assignment.weights(features[:, t], h, r_noise[t], **how)  # eta, gamma [B, K]
            omega = self.history.add(omega, z, item.gamma, memory.items + t)
            posteriors.append(q)
            variables.append(h)
            weights.append(item)
        return stack_items(posteriors), torch.stack(variables, dim=1), stack_items(weights), omega

    def read(
        self, memory: EpisodeMemory, queries: Float[Tensor, "B N D"], noise: Noise | None = None, **how
    ) -> EpisodeRead:
        """Read at N queries (Algorithm 2); the memory and the history stay as they are."""
        noise = self._noise_for(queries, noise)
        shapes, name = self.noise_shapes(*queries.shape[:2]), self.assignment.noise_name + "_read"
        q = self.history(memory.omega)  # q(h | z_1..T)
        h = q.draw(pick(noise, shapes, "history_read"))  # [B, L]
        shared = h[:, None].expand(-1, queries.shape[1], -1)  # one h for all queries [B, N, L]
        features = self.assignment.features(queries)  # [B, N, K]
        weights = self.assignment.weights(features, shared, pick(noise, shapes, name), **how)
        added = self._address_noise(noise, queries, "address_read")
        reading = read(memory.state, queries, weights.gamma, noise=added, **self.solving)
        kl = {"address_read": address_kl(reading.w, self.chi).sum(-1), "history_read": history_kl(*q)}
        kl |= self._assignment_kl("assignment_read", features, shared)
        return EpisodeRead(reading, weights, self._shares(weights, features, shared), h, kl)

    def machine_logits(
        self, reading: ReadResult, gamma: Float[Tensor, "B N K"]
    ) -> Float[Tensor, "B N K C H W"]:
        """Each machine's part decoded alone: of gamma_i R_i w_i, the others at 0 (Figures 2B, 3B and 4C)."""
        return self.decoder(gamma[..., None] * reading.parts)

    def _noise_for(self, codes: Float[Tensor, "B T D"], noise: Noise | None) -> Noise | None:
        """The noise that was passed; else, in training, fresh noise."""
        if noise is not None or not self.training:
            return noise
        return self.noise(*codes.shape[:2], device=codes.device)

    def _address_noise(self, noise: Noise | None, codes: Float[Tensor, "B T D"], name: str) -> Tensor | None:
        """Standard normal numbers times chi, or None where addresses are at their mean."""
        drawn = pick(noise, self.noise_shapes(*codes.shape[:2]), name)
        return None if drawn is None else self.chi[:, None] * drawn

    def _shares(
        self, weights: MachineWeights, features: Float[Tensor, "B N K"], h: Float[Tensor, "B N L"]
    ) -> Float[Tensor, "B N K"]:
        """Each machine's share of N items, on which their balance is measured."""
        return weights.gamma

    def _assignment_kl(self, name: str, features: Tensor, h: Tensor) -> dict[str, Tensor]:
        """The assignment's divergence by its name, if it has one."""
        if not hasattr(self.assignment, "divergence"):
            return {}
        return {name: self.assignment.divergence(features, h).sum(-1)}
