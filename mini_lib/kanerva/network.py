"""The networks: images are encoded, written into a memory, read and decoded."""

from numbers import Real
from typing import ClassVar, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from mini_lib.errors import UsageError, check_names, check_positive_int
from mini_lib.kanerva.assignment import ASSIGNMENTS, History, Normal, Shapes, check_noise, draw_all
from mini_lib.kanerva.memory import (
    EpisodeMemory,
    Prior,
    WriteResult,
    addresses,
    gaussian_kl,
    initial_means,
    memory_kl,
    read_at,
    write_item,
)
from mini_lib.module import Module, Noise, check_floats, holds, noise_or_draw

SAMPLES = ("mean", "full")
INITIAL_CHI = 0.3  # standard deviation of addresses
Given = Noise | None
Tau = float | Float[Tensor, "..."] | None
Images = Float[Tensor, "B T C H W"]
Codes = Float[Tensor, "B T D"]


class EpisodeRead(NamedTuple):
    """The answers of a network to N queries."""

    codes: Float[Tensor, "B N D"]  #: mu_z, the answers.
    parts: Float[Tensor, "B N K D"]  #: R_i w_i, the answer of each machine.
    w: Float[Tensor, "B N K M"]  #: addresses by least squares, without noise.
    eta: Float[Tensor, "B N K"]  #: noise of each machine.
    gamma: Float[Tensor, "B N K"]  #: weight of each machine.
    shares: Float[Tensor, "B N K"]  #: gamma, or the probabilities of a mixture.
    kl: dict[str, Tensor]  #: see `KanervaTrace.kl`.


class KanervaTrace(NamedTuple):
    """Everything that happens while an episode is written and read."""

    logits: Float[Tensor, "B T C H W"]  #: of the pixels that are read out.
    autoencoded: Float[Tensor, "B ... C H W"]  #: logits of the codes themselves; no items unless requested.
    codes: Float[Tensor, "B T D"]  #: z, of the images.
    queries: Float[Tensor, "B T D"]  #: z, of the queries.
    written: WriteResult
    reading: EpisodeRead

    @property
    def memory(self) -> EpisodeMemory:
        """The memory after the episode."""
        return self.written.memory

    @property
    def shares(self) -> Float[Tensor, "B ... K"]:
        """Share of each machine in each item, and then in each query."""
        return torch.cat([self.written.shares, self.reading.shares], dim=1)

    @property
    def kl(self) -> dict[str, Tensor]:
        """Divergences in nats, summed over machines.

        "memory" [B], of an episode; "address", "history" and (not of a mixture) "assignment" [B, T], of each item;
        "address_read" and "assignment_read" [B, T], of each query; "history_read" [B].
        """
        return self.written.kl | self.reading.kl


class Kanerva(Module):
    """An encoder, K machines, a decoder, and all that is learned with them; base of the two networks.

    Learned are both networks for images, the prior means R_0 and ln psi (V_0 = psi I), ln chi of each machine, the
    history and the assignment. In the inference model (Equations 11 and 12) q(h | z) is the history, q(r | z, h) the
    assignment, q(w | z) least squares, q(M | z, w, r) writing; the generative model (Equations 6 and 8 to 10) has
    the priors N(0, I) of h and of w, p(r | h) and N(vec(R_0), psi I).

    All methods take `noise`, as `draw_noise` draws it, and `tau`, the temperature of a mixture. Without noise it is
    drawn in training mode; in evaluation mode every variable is at its mean.
    """

    coupling: ClassVar[str]

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
        sample: str = "mean",
    ):
        super().__init__()
        check_names("assignment", [assignment], ASSIGNMENTS[self.coupling])
        check_names("sample", [sample], SAMPLES)
        check_positive_int(dim=dim, machines=machines, columns=columns)
        for name, network in (("encoder", encoder), ("decoder", decoder)):
            if not isinstance(network, nn.Module) or getattr(network, "dim", dim) != dim:
                raise UsageError(f"{name} has to be a torch.nn.Module with codes of {dim} features")
        self.dim, self.machines, self.columns, self.sample = dim, machines, columns, sample
        self.encoder, self.decoder = encoder, decoder
        self.history = History(dim, machines)
        self.prior_means = nn.Parameter(initial_means(machines, dim, columns))  # R_0
        self.log_psi = nn.Parameter(torch.zeros(machines))
        self.log_chi = nn.Parameter(torch.full((machines,), INITIAL_CHI).log())
        make = ASSIGNMENTS[self.coupling][assignment]
        self.assignment = make(dim, machines, self.history.size, stop_grad_r)

    @property
    def prior(self) -> Prior:
        """The machines before anything is written."""
        return Prior(self.prior_means, self.log_psi.exp())

    @property
    def chi(self) -> Float[Tensor, "K"]:
        """Standard deviation of the addresses of each machine."""
        return self.log_chi.exp()

    def noise_shapes(self, batch: int, items: int) -> Shapes:
        """Names and shapes of the noise for B episodes of T items, in the order in which it is drawn."""
        shapes = {"history": (batch, items, self.history.size), "history_read": (batch, self.history.size)}
        for end in ("", "_read"):
            shapes[self.assignment.noise_name + end] = (batch, items, self.machines)
            if self.sample == "full":
                shapes["address" + end] = (batch, items, self.machines, self.columns)
        return shapes

    def draw_noise(self, batch: int, items: int, generator: torch.Generator | None = None) -> Noise:
        """Draw the noise for B episodes of T items, on the device of the generator."""
        return draw_all(self.noise_shapes(batch, items), generator)

    def empty(self, batch: int) -> EpisodeMemory:
        """B memories at their prior."""
        omega = self.prior_means.new_zeros(batch, self.history.width)
        return EpisodeMemory(self.prior.state(batch), omega, 0)

    def forward(
        self, images: Images, queries: Images | None = None, noise: Given = None, *, tau: Tau = None
    ) -> Images:
        """Write all images of an episode, then read at all queries; returns the logits of the pixels."""
        return self.trace(images, queries, noise, tau=tau).logits

    def trace(
        self,
        images: Images,
        queries: Images | None = None,
        noise: Given = None,
        *,
        tau: Tau = None,
        autoencode: bool = False,
    ) -> KanervaTrace:
        """Write all images of an episode, from 0 to 1, then read at all its queries, one for each image.

        Queries are by default the images themselves. With `autoencode` the codes themselves are decoded too.
        """
        self._check_images("images", images, images)
        if queries is None:
            codes = query_codes = self.encoder(images)  # z [B, T, D]
        else:
            self._check_images("queries", queries, images)
            codes, query_codes = self.encoder(torch.cat([images, queries])).tensor_split(2)
        noise = noise_or_draw(self, noise, codes.device, *codes.shape[:2])
        written = self.write(codes, noise, tau=tau)
        reading = self.read(written.memory, query_codes, noise, tau=tau)
        decoded = torch.cat([reading.codes, codes], dim=1) if autoencode else reading.codes
        logits, autoencoded = self.decoder(decoded).tensor_split([images.shape[1]], dim=1)
        return KanervaTrace(logits, autoencoded, codes, query_codes, written, reading)

    def write(
        self, codes: Codes, noise: Given = None, memory: EpisodeMemory | None = None, *, tau: Tau = None
    ) -> WriteResult:
        """Write T codes, into an empty memory unless one is given."""
        noise, options = self._prepare(codes, noise, tau, reading=False)
        prior, memory = self.prior, self.empty(len(codes)) if memory is None else memory
        state, omega, before = memory
        features = self.assignment.features(codes)  # MLP_1(z) [B, T, K]
        steps = []
        # Algorithm 1
        for t, (z, f) in enumerate(zip(codes.unbind(1), features.unbind(1), strict=True)):
            drawn = {name: each[:, t] for name, each in noise.items()}
            q = self.history(omega)  # q(h | z_1..t-1)
            h = q.draw(drawn.get("history"))  # [B, L]
            noise_r = drawn.get(self.assignment.noise_name)
            weights = self.assignment.weights(f, h, noise_r, **options)  # eta, gamma [B, K]
            w = addresses(state.R, z[:, None])[:, 0]  # least squares [B, K, M]
            at = w + self.chi[:, None] * drawn["address"] if "address" in drawn else w
            state, item_kl = write_item(state, z, at, weights, self.coupling, prior.psi)
            omega = self.history.add(omega, z, weights.gamma, before + t)  # Omega_t [B, Q]
            steps.append((state, w, *weights, item_kl, h, *q))
        states, *tensors = zip(*steps, strict=True)
        w, eta, gamma, item_kl, h, *q = (torch.stack(each, dim=1) for each in tensors)
        kl = {"memory": memory_kl(state, prior).sum(-1)} | self._kl("", w, Normal(*q), features, h)
        after = EpisodeMemory(state, omega, before + codes.shape[1])
        shares = self.assignment.shares(gamma, features, h)
        return WriteResult((memory.state, *states), w, eta, gamma, item_kl, after, shares, kl)

    def read(
        self, memory: EpisodeMemory, queries: Codes, noise: Given = None, *, tau: Tau = None
    ) -> EpisodeRead:
        """Read at N queries; the memory and the history stay as they are."""
        noise, options = self._prepare(queries, noise, tau, reading=True)
        features = self.assignment.features(queries)  # MLP_1(z) [B, N, K]
        # Algorithm 2
        q = self.history(memory.omega)  # q(h | z_1..T)
        h = q.draw(noise.get("history_read"))  # [B, L]
        shared = h[:, None].expand(-1, queries.shape[1], -1)  # one h for all queries [B, N, L]
        noise_r = noise.get(self.assignment.noise_name + "_read")
        eta, gamma = self.assignment.weights(features, shared, noise_r, **options)  # [B, N, K]
        w = addresses(memory.state.R, queries)  # least squares [B, N, K, M]
        at = w + self.chi[:, None] * noise["address_read"] if "address_read" in noise else w
        mu, parts = read_at(memory.state.R, at, gamma)
        mu, parts = mu.to(queries.dtype), parts.to(queries.dtype)
        shares = self.assignment.shares(gamma, features, shared)
        return EpisodeRead(mu, parts, w, eta, gamma, shares, self._kl("_read", w, q, features, shared))

    def machine_logits(self, reading: EpisodeRead) -> Float[Tensor, "B N K C H W"]:
        """The part of each machine decoded alone: gamma_i R_i w_i, all others at 0 (Figures 2B, 3B and 4C)."""
        return self.decoder((reading.gamma[..., None] * reading.parts).to(reading.codes.dtype))

    def _check_images(self, what: str, images: Tensor, like: Tensor) -> None:
        """UsageError unless these are episodes of images from 0 to 1; on a GPU values are not checked."""
        check_floats(images, self, what)
        if images.dim() != 5 or not images.shape[1] or images.shape != like.shape:
            raise UsageError(f"{what} have to be [B, T > 0, C, H, W], all alike, got {[*images.shape]}")
        if images.device.type == "cpu" and not holds((images >= 0) & (images <= 1)):
            raise UsageError(f"{what} have to be from 0 to 1; divide bytes by 255")

    def _prepare(self, codes: Tensor, noise: Given, tau: Tau, reading: bool) -> tuple[Noise, dict]:
        """Noise, drawn or checked, and options of the assignment; UsageError for codes of another size."""
        if codes.dim() != 3 or codes.shape[-1] != self.dim or not codes.shape[1]:
            raise UsageError(f"codes have to be [B, T > 0, D = {self.dim}], got {[*codes.shape]}")
        noise = noise_or_draw(self, noise, codes.device, *codes.shape[:2])
        numbers = isinstance(tau, Tensor) and (not tau.is_cpu or holds(tau > 0))
        positive = numbers or (isinstance(tau, Real) and tau > 0)
        if tau is not None and not (positive and self.coupling == "mixture"):
            raise UsageError(f"tau is the temperature of a mixture alone, and above 0; got {tau!r}")
        shapes = self.noise_shapes(*codes.shape[:2])
        shapes = {name: shape for name, shape in shapes.items() if name.endswith("_read") == reading}
        return check_noise(noise, shapes) if noise else {}, {} if tau is None else {"tau": tau}

    def _kl(
        self, end: str, w: Float[Tensor, "B N K M"], q: Normal, features: Float[Tensor, "B N K"], h: Tensor
    ) -> dict[str, Tensor]:
        """Divergences of items or queries, and of the history; the end of their names is "" or "_read"."""
        address = gaussian_kl(w, self.chi[:, None]).sum(-1).sum(-1)  # Eq. 23
        kl = {f"address{end}": address, f"history{end}": gaussian_kl(*q).sum(-1)}  # Eq. 25
        assignment = self.assignment.divergence(features, h)
        return kl if assignment is None else kl | {f"assignment{end}": assignment.sum(-1)}


class ProductKanerva(Kanerva):
    """K machines that answer together; an assignment network gives each a weight for every item and every query.

    Writing and reading, item by item: z = e(x), h ~ q(h | z_1..t-1), u ~ q(u | z, h), eta = softplus(u) + .001,
    gamma_i = eta_i^-2 / sum_j eta_j^-2, w_i by least squares; then writing by Equations 2 to 4, or the answer
    mu_z = sum_i gamma_i R_i w_i, which is decoded. All queries share one h, of the whole episode.

    >>> from mini_lib.kanerva.objective import nats
    >>> encoder = nn.Sequential(nn.Flatten(2), nn.Linear(25, 6))  # images [B, T, 1, 5, 5] to codes [B, T, 6]
    >>> decoder = nn.Sequential(nn.Linear(6, 25), nn.Unflatten(2, (1, 5, 5)))
    >>> model = ProductKanerva(encoder, decoder, dim=6, machines=2, columns=4)
    >>> images = (torch.rand(3, 8, 1, 5, 5) > 0.5).float()
    >>> trace = model.trace(images)
    >>> loss = nats(trace.logits, images).mean() + sum(each.mean() for each in trace.kl.values()) / 8
    >>> model(images).shape, trace.reading.gamma.shape
    (torch.Size([3, 8, 1, 5, 5]), torch.Size([3, 8, 2]))

    Args:
        encoder, decoder: images to codes, and codes to logits; any modules, such as those of `images`.
        dim, machines, columns: D, K, and M of each machine; the paper's c, k and m_i.
        assignment: where the weights come from: "learned", "unit prior" (learned), "given" or "even".
        stop_grad_r: nothing is learned through r; the assignment stays as initialized (Figure 2C).
        sample: addresses at their "mean", where chi counts in their divergence alone, or, in the "full" model, drawn
            with the standard deviation chi.
    """

    coupling = "product"


class MixtureKanerva(Kanerva):
    """K machines, of which one is chosen for every item and query; built as `ProductKanerva` (Equations 60 to 62).

    Here gamma is one-hot: the chosen machine is written with its own error, and its answer is
    that of the memory. `tau` is the temperature of the choice, 1 by default. As in the paper, the choice has no
    divergence.

    >>> from mini_lib.kanerva.images import MLPDecoder, MLPEncoder
    >>> model = MixtureKanerva(MLPEncoder(1, 5, 6), MLPDecoder(1, 5, 6), dim=6, machines=3, columns=4)
    >>> model.trace(torch.ones(2, 7, 1, 5, 5), tau=0.5).written.gamma.max().item()  # 2 episodes of 7 images
    1.0
    """

    coupling = "mixture"


MODELS: dict[str, type[Kanerva]] = {"product": ProductKanerva, "mixture": MixtureKanerva}
