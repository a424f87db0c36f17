"""What the product and the mixture have in common: images are encoded, written, asked for and decoded."""

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

from mini_lib.errors import UsageError, unknown_name_error
from mini_lib.kanerva.memory import (
    KL_MEMORY,
    RIDGE,
    SOLVERS,
    MachineWeights,
    Prior,
    ReadResult,
    address_kl,
    episode_kl,
    history_kl,
    initial_means,
    read,
    write_episode,
)
from mini_lib.kanerva.memory.state import whole
from mini_lib.kanerva.models.history import SIZE, WIDTH, History
from mini_lib.kanerva.models.noise import Noise, Normal, Shapes, at, draw_noise, pick
from mini_lib.kanerva.models.trace import EpisodeMemory, EpisodeRead, EpisodeWrite, KanervaTrace

SAMPLES = ("mean", "full")
H_READ = ("final", "prior", "zero")
CHI = 0.3  # standard deviation of addresses to start from


class Kanerva(nn.Module):
    """An encoder, K machines, a decoder, and all that is learned with them.

    Learned are both networks for images, the prior means R_0 and ln psi (V_0 = psi I), ln chi of each machine, the
    assignment network and the history. Subclasses give the rule of writing, and set `assignment`: a network with
    `features`, `weights` and, where it has one, `divergence`; see `AssignmentNetwork`.

    They make up the inference model of Equations 11 and 12: q(h | z) is the history, q(r | z, h) the assignment,
    q(w | z) least squares, and q(M | z, w, r) writing. The generative model of Equations 6 and 8 to 10 has N(0, I)
    as prior of h and of w, p(r | h), which is the assignment's too, and N(vec(R_0), psi I) as prior of M.

    Noise is an argument and always standard normal, but for names that begin with "gumbel"; see `noise_shapes`.
    Without noise every variable is at its mean.

    Args:
        encoder: images to codes.
        decoder: codes to logits.
        dim: D, features of a code.
        machines: K.
        columns: M, of each machine.
        rule: how an item moves the machines; see `memory.writing`.
        solver: "ridge" or "dkm"; see `addresses`.
        ridge: lambda.
        kl_memory: "final", "sum" or "steps"; see `episode_kl`.
        sample: addresses at their "mean" (Figures 1, 2, 4 and 5), where chi counts in their divergence alone, or, in
            the "full" model (the other figures), drawn with the standard deviation chi, for writing and reading.
        h_read: h of all queries comes from q(h | Omega_T), "final", from the "prior", or is "zero".
        history: H.
        width: of Omega.

    Raises:
        UsageError: for an option or a size that cannot be, or image networks with codes of another size.
    """

    assignment: nn.Module

    def __init__(
        self,
        encoder: nn.Module,
        decoder: nn.Module,
        dim: int,
        machines: int,
        columns: int,
        *,
        rule: str,
        solver: str = "ridge",
        ridge: float = RIDGE,
        kl_memory: str = "final",
        sample: str = "mean",
        h_read: str = "final",
        history: int = SIZE,
        width: int = WIDTH,
    ):
        super().__init__()
        for kind, name, known in (
            ("solver", solver, SOLVERS),
            ("kl_memory", kl_memory, KL_MEMORY),
            ("sample", sample, SAMPLES),
            ("h_read", h_read, H_READ),
        ):
            if name not in known:
                raise unknown_name_error(kind, name, known)
        if not 0 < ridge < math.inf:
            raise UsageError(f"ridge (lambda) has to be above 0, got {ridge!r}")
        whole(dim=dim, machines=machines, columns=columns, history=history, width=width)
        for network in (encoder, decoder):
            if getattr(network, "dim", dim) != dim:
                raise UsageError(
                    f"this {type(network).__name__} has codes of {network.dim} features, not {dim}"
                )
        self.dim, self.machines, self.columns, self.rule = dim, machines, columns, rule
        self.kl_memory, self.sample, self.h_read = kl_memory, sample, h_read
        self.solving = {"solver": solver, "ridge": ridge}
        self.encoder, self.decoder = encoder, decoder
        self.history = History(dim, machines, history, width)
        self.prior_means = nn.Parameter(initial_means(machines, dim, columns))  # R_0
        self.log_psi = nn.Parameter(torch.zeros(machines))
        self.log_chi = nn.Parameter(torch.full((machines,), CHI).log())

    @property
    def writing(self) -> dict:
        """How items are written: `write_episode`'s options."""
        return {"coupling": self.rule, "psi": self.prior.psi, **self.solving}

    @property
    def prior(self) -> Prior:
        """The machines before anything is written."""
        return Prior(self.prior_means, self.log_psi.exp())

    @property
    def chi(self) -> Float[Tensor, "K"]:
        """Standard deviation of each machine's addresses."""
        return self.log_chi.exp()

    def noise_shapes(self, batch: int, items: int) -> Shapes:
        """The random tensors of a forward pass over B episodes of T items, by name; the shapes of their numbers.

        "history" and "assignment" (in a mixture "gumbel") are of writing, the same names with "_read" of reading;
        "address" and "address_read" where addresses are drawn.
        """
        shapes = {"history": (batch, items, self.history.size)}
        if self.h_read != "zero":
            shapes["history_read"] = (batch, self.history.size)
        for end in ("", "_read"):
            shapes[self.assignment.noise_name + end] = (batch, items, self.machines)
            if self.sample == "full":
                shapes["address" + end] = (batch, items, self.machines, self.columns)
        return shapes

    def noise(self, batch: int, items: int, generator: torch.Generator) -> dict[str, Tensor]:
        """The random tensors of a forward pass, drawn in the order of their names there."""
        return draw_noise(self.noise_shapes(batch, items), generator)

    def empty(self, batch: int) -> EpisodeMemory:
        """B memories that know their prior alone."""
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
        """Write all images of an episode, then ask all its queries.

        Args:
            images: 0 or 1.
            queries: what is asked, item by item; by default the images themselves, which are then encoded once.
            noise: as `noise_shapes` names it.
            autoencode: decode the codes themselves too.
            how: what the assignment takes besides; `tau` of a mixture.

        Raises:
            UsageError: for queries or noise that do not fit, or an episode without items.
        """
        if queries is not None and queries.shape != images.shape:
            raise UsageError(f"queries {[*queries.shape]} have to be of the images' shape {[*images.shape]}")
        whole(episodes=images.shape[0], items=images.shape[1])
        if queries is None:
            codes = asked = self.encoder(images)
        else:
            codes, asked = self.encoder(torch.cat([images, queries])).chunk(2)
        writing = self.write(codes, noise, **how)
        found = self.read(writing.memory, asked, noise, **how)
        said = found.reading.codes
        logits = self.decoder(torch.cat([said, codes], dim=1) if autoencode else said)
        items = codes.shape[1]
        return KanervaTrace(
            logits[:, :items],
            logits[:, items:],
            codes,
            asked,
            writing.written,
            found.reading,
            found.weights,
            writing.h,
            found.h,
            writing.memory.omega,
            writing.kl | found.kl,
        )

    def write(
        self,
        codes: Float[Tensor, "B T D"],
        noise: Noise | None = None,
        memory: EpisodeMemory | None = None,
        **how,
    ) -> EpisodeWrite:
        """Write T codes, into an empty memory unless one is given (Algorithm 1)."""
        memory = self.empty(len(codes)) if memory is None else memory
        features = self.assignment.features(codes)
        q, h, weights, omega = self.assign(codes, features, memory, noise, **how)
        added = self._address_noise(noise, self.noise_shapes(*codes.shape[:2]), "address")
        written = write_episode(memory.state, codes, weights, noise=added, **self.writing)
        kl = {
            "memory": episode_kl(written, self.prior, self.kl_memory).sum(-1),
            "address": address_kl(written.w, self.chi).sum(-1),
            "history": history_kl(*q),
        }
        left = EpisodeMemory(written.state, omega, memory.items + codes.shape[1])
        return EpisodeWrite(left, written, h, kl | self._assignment_kl("assignment", features, h))

    def assign(
        self,
        codes: Float[Tensor, "B T D"],
        features: Float[Tensor, "B T K"],
        memory: EpisodeMemory,
        noise: Noise | None = None,
        **how,
    ) -> tuple[Normal, Float[Tensor, "B T H"], MachineWeights, Float[Tensor, "B W"]]:
        """How much each machine counts for T codes in order, after what the memory already holds.

        This depends on the codes and on the history, not on the machines' state: so it is found before writing.

        Returns:
            q(h | z_1..t-1), the h drawn from it, eta and gamma, and the last Omega.
        """
        whole(items=codes.shape[1])
        shapes, name = self.noise_shapes(*codes.shape[:2]), self.assignment.noise_name
        history, drawn = pick(noise, shapes, "history"), pick(noise, shapes, name)
        omega, known, variables, used = memory.omega, [], [], []
        for t, code in enumerate(codes.unbind(1)):
            known.append(self.history(omega))
            variables.append(known[-1].draw(at(history, t)))
            used.append(self.assignment.weights(features[:, t], variables[-1], at(drawn, t), **how))
            omega = self.history.add(omega, code, used[-1].gamma, memory.items + t)
        q, weights = (
            kind(*(torch.stack(parts, dim=1) for parts in zip(*each, strict=True)))
            for kind, each in ((Normal, known), (MachineWeights, used))
        )
        return q, torch.stack(variables, dim=1), weights, omega

    def read(
        self, memory: EpisodeMemory, queries: Float[Tensor, "B N D"], noise: Noise | None = None, **how
    ) -> EpisodeRead:
        """Ask N queries (Algorithm 2); the memory and the history stay as they are."""
        shapes, name = self.noise_shapes(*queries.shape[:2]), self.assignment.noise_name + "_read"
        h, history = self.recall(memory, pick(noise, shapes, "history_read"))
        shared = h[:, None].expand(-1, queries.shape[1], -1)
        features = self.assignment.features(queries)
        weights = self.assignment.weights(features, shared, pick(noise, shapes, name), **how)
        added = self._address_noise(noise, shapes, "address_read")
        reading = read(memory.state, queries, weights.gamma, noise=added, **self.solving)
        kl = {"address_read": address_kl(reading.w, self.chi).sum(-1), "history_read": history}
        return EpisodeRead(reading, weights, h, kl | self._assignment_kl("assignment_read", features, shared))

    def recall(
        self, memory: EpisodeMemory, noise: Float[Tensor, "B H"] | None = None
    ) -> tuple[Float[Tensor, "B H"], Float[Tensor, "B"]]:
        """The history variable h for reading, and its divergence from the prior."""
        if self.h_read == "final":
            q = self.history(memory.omega)
            return q.draw(noise), history_kl(*q)
        zeros = memory.omega.new_zeros(len(memory.omega), self.history.size)
        return zeros if noise is None else noise, zeros.sum(-1)

    def machine_logits(
        self, reading: ReadResult, gamma: Float[Tensor, "B N K"]
    ) -> Float[Tensor, "B N K C H W"]:
        """What each machine says, decoded alone: of gamma_i R_i w_i, the others at 0 (Figures 2B, 3B and 4C)."""
        return self.decoder(gamma[..., None] * reading.parts)

    def _address_noise(self, noise: Noise | None, shapes: Shapes, name: str) -> Tensor | None:
        """Standard normal numbers times chi, or None where addresses are at their mean."""
        drawn = pick(noise, shapes, name)
        return None if drawn is None else self.chi[:, None] * drawn

    def _assignment_kl(self, name: str, features: Tensor, h: Tensor) -> dict[str, Tensor]:
        """The assignment's divergence by its name, if it has one."""
        if not hasattr(self.assignment, "divergence"):
            return {}
        return {name: self.assignment.divergence(features, h).sum(-1)}
