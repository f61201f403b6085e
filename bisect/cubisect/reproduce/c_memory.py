"""The two buffers of a trial in C: how they are allocated, filled, read back, and where an offset lies in them."""

from collections.abc import Sequence
from dataclasses import dataclass

from cubisect.batch import Int64
from cubisect.trial import TrialSpec

MAPPING = """\
static CUdeviceptr map(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) fail(NOT_SET_UP, "mmap", CUDA_ERROR_OUT_OF_MEMORY);
    return (CUdeviceptr)memory;
}"""

CHUNKS = """\
/* Host memory registered in chunks: the offsets cuts[k] to cuts[k + 1] lie from at[k] on. */
typedef struct {{ int chunks; const size_t *cuts; CUdeviceptr at[{most}]; }} Chunks;
{cuts}

static void register_chunks(Chunks *c)
{{
    for (int k = 0; k < c->chunks; k++) {{
        c->at[k] = map(c->cuts[k + 1] - c->cuts[k]);
        CHECK(NOT_SET_UP, cuMemHostRegister((void *)c->at[k], c->cuts[k + 1] - c->cuts[k], 0));
    }}
}}

static CUdeviceptr address(const Chunks *c, size_t offset)
{{
    int k = 0;
    while (offset >= c->cuts[k + 1]) k++;
    return c->at[k] + (offset - c->cuts[k]);
}}

static void transfer(const Chunks *c, unsigned char *bytes, int in)
{{
    for (int k = 0; k < c->chunks; k++) {{
        unsigned char *here = (unsigned char *)c->at[k], *there = bytes + c->cuts[k];
        memcpy(in ? here : there, in ? there : here, c->cuts[k + 1] - c->cuts[k]);
    }}
}}"""


@dataclass(frozen=True)
class CMemory:
    """The C text of both buffers. `source` and `destination` are the addresses of copy `i`, the others statements."""

    helpers: Sequence[str]
    declaration: Sequence[str]
    allocate: Sequence[str]
    put_source: str
    put_destination: str
    get_destination: str
    source: str
    destination: str


@dataclass(frozen=True)
class _Side:
    name: str
    extent: str
    kind: str
    cuts: Sequence[int] = ()

    @property
    def allocate(self) -> list[str]:
        name, extent = self.name, self.extent
        if self.cuts:
            return [f"register_chunks(&{name});"]
        match self.kind:
            case "device":
                return [f"CHECK(NOT_SET_UP, cuMemAlloc(&{name}, {extent}));"]
            case "pinned":
                return [f"CHECK(NOT_SET_UP, cuMemHostAlloc((void **)&{name}, {extent}, 0));"]
            case "managed":
                return [f"CHECK(NOT_SET_UP, cuMemAllocManaged(&{name}, {extent}, CU_MEM_ATTACH_GLOBAL));"]
            case "pageable":
                return [f"{name} = map({extent});"]
        return [f"{name} = map({extent});", f"CHECK(NOT_SET_UP, cuMemHostRegister((void *){name}, {extent}, 0));"]

    def put(self, content: str) -> str:
        if self.cuts:
            return f"transfer(&{self.name}, {content}, 1);"
        if self.kind == "device":
            return f"CHECK(NOT_SET_UP, cuMemcpyHtoD({self.name}, {content}, {self.extent}));"
        return f"memcpy((void *){self.name}, {content}, {self.extent});"

    def get(self, content: str) -> str:
        if self.cuts:
            return f"transfer(&{self.name}, {content}, 0);"
        if self.kind == "device":
            return f"CHECK(ASYNC_ERROR, cuMemcpyDtoH({content}, {self.name}, {self.extent}));"
        return f"memcpy({content}, (void *){self.name}, {self.extent});"

    def address(self, offset: str) -> str:
        return f"address(&{self.name}, {offset})" if self.cuts else f"{self.name} + {offset}"


def c_memory(spec: TrialSpec) -> CMemory:
    """Return the buffers of a trial as C."""
    batch = spec.batch
    source = _side("from", "SOURCE_BYTES", spec, spec.direction[0], batch.source, batch.source_extent)
    destination = _side("to", "DESTINATION_BYTES", spec, spec.direction[2], batch.destination, batch.destination_extent)
    sides = (source, destination)
    return CMemory(
        helpers=_helpers(sides),
        declaration=_declared(sides),
        allocate=[line for side in sides for line in side.allocate],
        put_source=source.put("bytes"),
        put_destination=destination.put("expected"),
        get_destination=destination.get("arrived"),
        source=source.address("source[i]"),
        destination=destination.address("destination[i]"),
    )


def _side(name: str, extent: str, spec: TrialSpec, place: str, starts: Int64, length: int) -> _Side:
    kind = "device" if place == "d" else spec.host_memory
    cuts = [0, *_registration_cuts(starts, spec.sizes, length), length] if kind == "registered_chunks" else ()
    return _Side(name, extent, kind, cuts)


def _declared(sides: Sequence[_Side]) -> list[str]:
    chunks = [f"static Chunks {s.name} = {{{len(s.cuts) - 1}, {s.name}_cuts, {{0}}}};" for s in sides if s.cuts]
    plain = ", ".join(side.name for side in sides if not side.cuts)
    return [*chunks, f"CUdeviceptr {plain};"] if plain else chunks


def _helpers(sides: Sequence[_Side]) -> list[str]:
    kinds = {side.kind for side in sides}
    helpers = [MAPPING] if kinds & {"pageable", "registered", "registered_chunks"} else []
    chunked = [side for side in sides if side.cuts]
    if chunked:
        cuts = "\n".join(
            f"static const size_t {side.name}_cuts[] = {{{', '.join(map(str, side.cuts))}}};" for side in chunked
        )
        helpers.append(CHUNKS.format(most=max(len(side.cuts) for side in chunked) - 1, cuts=cuts))
    return helpers


def _registration_cuts(starts: Int64, sizes: Int64, extent: int) -> list[int]:
    """Return where the CUDA driver of this package divides a buffer of ``registered_chunks``."""
    from cubisect.drivers.cuda_memory import (  # noqa: PLC0415  (imports cuda-python, needed for this kind alone)
        REGISTRATION_BYTES,
        REGISTRATIONS,
        uncut_offsets,
    )

    return uncut_offsets(starts, sizes, min(REGISTRATION_BYTES, -(-extent // REGISTRATIONS)))
