"""The workloads by name: what each moves, how its caller submits it, and where that is known from.

Sizes and counts are arithmetic from public reports and model configurations; `docs/workloads.md` shows it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from cubisect.batch import Descriptors
from cubisect.errors import InputError, choices
from cubisect.space import AXES, KIB, MAX_SCALE, MIB, NumericAxis, Point, Value
from cubisect.workloads.generators import Calls, CompactBlocks, Generator, PagesAndIndex, SmallTensors, WholeBlocks
from cubisect.workloads.layout import Group


@dataclass(frozen=True, kw_only=True)
class Workload:
    """One real transfer. `unit` is what `scale` counts, `context` how the real caller submits it (axis values).

    `not_modelled` says what the caller does beyond the axes. A `negative_control` has never been reported to fail.
    """

    name: str
    summary: str
    unit: str
    default_scale: int
    generator: Generator
    context: Mapping[str, Value] = field(default_factory=dict)
    negative_control: bool = False
    not_modelled: str = ""

    @property
    def max_scale(self) -> int:
        """The largest scale."""
        return MAX_SCALE[self.name]

    def check_scale(self, scale: int) -> None:
        """Raise `InputError` when the workload would be empty or larger than the space allows."""
        if not 1 <= scale <= self.max_scale:
            raise InputError(
                f"scale: {scale} {self.unit} of {self.name} are not allowed; allowed are 1 to {self.max_scale:,}"
            )


_DEEPSEEK_V4_FLASH = (
    # per rank and block of 256 tokens: 64 compressed entries of 584 bytes, of 132 bytes, and two of 584 bytes
    Group(64 * 584, slices=21),
    Group(64 * 132, slices=21),
    Group(2 * 584, slices=20),
)
_GLM_5 = (Group(36_864, slices=78), Group(8_448, slices=78))
_LLAMA_8B = (Group(16 * 8 * 128 * 2, slices=64),)
_LLAMA_70B_TP4 = (Group(16 * 2 * 128 * 2, slices=160),)

_LOAD: Mapping[str, Value] = {"direction": "h2d", "access_order": "any", "flags": 0}
_STORE: Mapping[str, Value] = {"direction": "d2h", "access_order": "stream", "flags": 0}

_WORKLOADS = (
    Workload(
        name="vllm-49276-tp2",
        summary="the compact KV-cache load of vLLM 49276, two ranks: the reported segfault",
        unit="blocks of 256 tokens",
        default_scale=836,
        generator=CompactBlocks(_DEEPSEEK_V4_FLASH, 64 * KIB, missing=4),
        context={**_LOAD, "host_memory": "pinned", "ranks": 2, "stream_state": "blocked"},
        not_modelled="the stream waits for two events; here for one",
    ),
    Workload(
        name="vllm-49276-tp4",
        summary="the third load of vLLM 49276, four ranks: the reported hang",
        unit="blocks of 256 tokens",
        default_scale=317,
        generator=CompactBlocks(_DEEPSEEK_V4_FLASH, 64 * KIB, missing=20),
        context={**_LOAD, "host_memory": "pinned", "ranks": 4, "stream_state": "blocked", "repetition": 3},
        not_modelled="each of the three hops stores (d2h, stream) before it loads",
    ),
    Workload(
        name="dsv4-agent-restore",
        summary="DeepSeek-V4-Flash, the context of one agent restored",
        unit="blocks of 256 tokens",
        default_scale=391,
        generator=CompactBlocks(_DEEPSEEK_V4_FLASH, 64 * KIB),
        context={**_LOAD, "host_memory": "pinned"},
    ),
    Workload(
        name="glm5-simple-offload",
        summary="GLM-5.2 fp8, whole blocks offloaded and loaded; two sizes, half each",
        unit="blocks of 64 tokens",
        default_scale=128,
        generator=WholeBlocks(_GLM_5),
        context={**_LOAD, "host_memory": "registered", "ranks": 8},
        not_modelled="stores (d2h, stream) run on a second stream",
    ),
    Workload(
        name="llama8b-load",
        summary="Llama-3.1-8B, whole blocks loaded; all copies equal",
        unit="blocks of 16 tokens",
        default_scale=256,
        generator=WholeBlocks(_LLAMA_8B),
        context={**_LOAD, "host_memory": "registered"},
        negative_control=True,
    ),
    Workload(
        name="llama70b-tp4-store",
        summary="Llama-70B on four ranks, whole blocks stored; all copies equal",
        unit="blocks of 16 tokens",
        default_scale=256,
        generator=WholeBlocks(_LLAMA_70B_TP4),
        context={**_STORE, "host_memory": "registered", "ranks": 4},
        negative_control=True,
    ),
    Workload(
        name="canonical-fragments",
        summary="pages of 8 KiB in 512-byte fragments: as many descriptors as one call can hold here",
        unit="pages of 16 fragments",
        default_scale=1 << 16,
        generator=WholeBlocks((Group(512, slices=16),)),
        context={**_LOAD, "host_memory": "pinned", "ranks": 8},
    ),
    Workload(
        name="sglang-page-first-direct",
        summary="SGLang's page-first host cache written back page by page",
        unit="pages of 64 slices",
        default_scale=512,
        generator=WholeBlocks((Group(16 * KIB, slices=64),), block_major=True),
        context={**_STORE, "host_memory": "registered", "ranks": 8},
        not_modelled="location hints in the attributes; one batch per prefill chunk",
    ),
    Workload(
        name="lmcache-kimi",
        summary="LMCache with Kimi: many calls of seven large copies, host memory registered in 64 MiB chunks",
        unit="calls of 7 copies",
        default_scale=128,
        generator=Calls(Group(1_179_648, slices=7), 64 * MIB),
        context={**_LOAD, "access_order": "stream", "host_memory": "registered_chunks", "chunk": 7},
        not_modelled="loads and stores alternate",
    ),
    Workload(
        name="trtllm-coldpage",
        summary="TensorRT-LLM's cold pages and the index that goes with them",
        unit="pages",
        default_scale=1024,
        generator=PagesAndIndex(),
        context={**_LOAD, "access_order": "stream", "flags": 1, "host_memory": "pinned"},
        not_modelled="the index is pageable, sent during_api_call and overwritten after the return",
    ),
    Workload(
        name="decode-step",
        summary="the small inputs of one decoding step, again and again without synchronising",
        unit="tensors",
        default_scale=32,
        generator=SmallTensors(),
        context={**_LOAD, "access_order": "stream", "flags": 1, "host_memory": "pinned", "repetition": 256},
        not_modelled="10,000 steps; a trial has 256",
    ),
)

WORKLOADS: Mapping[str, Workload] = MappingProxyType({workload.name: workload for workload in _WORKLOADS})
"""Every workload by name. The names are the values of the axis `workload`."""


def workload_named(name: str) -> Workload:
    """Return the workload called `name`; raise `InputError` that lists them."""
    if name not in WORKLOADS:
        raise InputError(f"unknown workload {name!r}; the workloads are {choices(WORKLOADS)} (see `bisect presets`)")
    return WORKLOADS[name]


def workload_descriptors(point: Point, seed: int) -> Descriptors:
    """Return the descriptors of `point.workload` at `point.scale` and `point.fragmentation`, drawn with `seed`.

    Raises:
        InputError: the workload is unknown or larger at this scale than the space allows.
    """
    workload = workload_named(point.workload)
    workload.check_scale(point.scale)
    return workload.generator.copies(point.scale, point.fragmentation, seed).descriptors(point.direction)


def preset_point(name: str, scale: int | None = None, **overrides: Value) -> Point:
    """Return the point of a workload as its real caller submits it, with some axes changed.

    `descriptor_count` and `total_bytes` are those of the unfragmented batch, held within their axes.
    """
    workload = workload_named(name)
    scale = workload.default_scale if scale is None else scale
    workload.check_scale(scale)
    count, total = workload.generator.size(scale)
    described = {"descriptor_count": count, "total_bytes": _held("total_bytes", total)}
    return Point.of({**described, **workload.context, "workload": name, "scale": scale, **overrides})


def _held(name: str, value: int) -> int:
    axis = AXES[name]
    assert isinstance(axis, NumericAxis)
    return int(min(max(value, axis.low), axis.high))
