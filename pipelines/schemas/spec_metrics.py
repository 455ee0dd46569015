"""The names of what a spec sheet states: quantity, unit, and the canonical form that sources are held against.

A quantity is what is measured (`bf16_teraflops`); a metric is a quantity in a stated form (`bf16_dense_teraflops`,
`bf16_sparse_teraflops`). How a fact is read or resolved does not belong here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Family = Literal["compute", "capacity", "bandwidth", "scale_up", "network", "power", "count", "words"]

DENSITIES = ("dense", "sparse")
ENGINES = ("tensor", "vector")
DIRECTIONS = ("per_direction", "both_directions")
SCOPES = ("die", "package", "superchip", "board", "port", "link", "node", "rack", "pod")
CAPACITY_BASES = ("usable", "raw")
PREFIXES = ("decimal", "binary")
BASES = ("published", "measured", "derived", "announced", "estimate")
PUBLISHER_KINDS = ("vendor", "third_party")
CONFIDENCES = ("high", "medium", "low")
SUBJECT_KINDS = ("accelerator", "platform", "processor", "unknown")


@dataclass(frozen=True, slots=True)
class Quantity:
    """One quantity that a spec sheet can state."""

    name: str
    family: Family
    unit: str | None
    description: str
    canonical_engine: Literal["tensor", "vector"] = "tensor"

    @property
    def metric(self) -> str:
        """Return the metric in canonical form: dense, on the stated engine, per direction."""
        if self.family == "compute":
            return metric_name(self.name, density="dense", engine=self.canonical_engine)
        if self.family == "scale_up":
            return metric_name(self.name, direction="per_direction")
        return self.name


def metric_name(
    quantity: str, *, density: str | None = None, engine: str | None = None, direction: str | None = None
) -> str:
    """Return the name of a quantity in a stated form: the form stands before the unit, the direction after it.

    A form that is not stated is not named: `bf16_teraflops` may be dense or sparse.
    """
    form = "vector" if engine == "vector" else density
    if form and quantity in QUANTITIES and QUANTITIES[quantity].family == "compute":
        what, _, unit = quantity.rpartition("_")
        quantity = f"{what}_{form}_{unit}"
    return f"{quantity}_{direction}" if direction else quantity


def _compute() -> list[Quantity]:
    tensor = {
        "tf32": "TF32 matrix rate",
        "bf16": "BF16 matrix rate",
        "fp16": "FP16 matrix rate",
        "fp8": "FP8 matrix rate",
        "fp4": "FP4 matrix rate",
    }
    vector = {"fp64": "FP64 vector rate", "fp32": "FP32 vector rate"}
    return [
        *(Quantity(f"{name}_teraflops", "compute", "TFLOP/s", text) for name, text in tensor.items()),
        *(
            Quantity(f"{name}_teraflops", "compute", "TFLOP/s", text, canonical_engine="vector")
            for name, text in vector.items()
        ),
        Quantity("int8_teraops", "compute", "TOP/s", "INT8 matrix rate"),
        Quantity("int4_teraops", "compute", "TOP/s", "INT4 matrix rate"),
    ]


_ACCELERATOR = [
    *_compute(),
    Quantity("memory_bytes", "capacity", "bytes", "Memory of one package"),
    Quantity("memory_bandwidth_gigabytes_per_second", "bandwidth", "GB/s", "Memory bandwidth of one package"),
    Quantity("memory_type", "words", None, "Kind of memory"),
    Quantity("scale_up_name", "words", None, "Scale-up interconnect"),
    Quantity("scale_up_gigabytes_per_second", "scale_up", "GB/s", "Scale-up bandwidth of one accelerator"),
    Quantity("scale_up_link_count", "count", "links", "Scale-up links of one accelerator"),
    Quantity("scale_up_domain_accelerators", "count", "accelerators", "Accelerators in one scale-up domain"),
    Quantity("nic_gigabits_per_second", "network", "Gb/s", "Scale-out network rate for one accelerator"),
    Quantity("power_watts", "power", "W", "Rated power of one accelerator"),
    Quantity("die_count", "count", "dies", "Compute dies of one package"),
    Quantity("io_die_count", "count", "dies", "Dies of one package that do not compute"),
    Quantity("tensorcore_count", "count", "cores", "TensorCores of one TPU chip; names of TPU slices may count them"),
    Quantity("release_year", "count", "year", "Year of release"),
    Quantity("structured_sparsity", "words", None, "Structured sparsity that the matrix engine speeds up"),
]


_PLATFORM = [
    Quantity("accelerator", "words", None, "Accelerator that the platform holds"),
    Quantity("accelerator_count", "count", "accelerators", "Accelerators populated"),
    Quantity("active_accelerator_count", "count", "accelerators", "Accelerators used where fewer than all are"),
    Quantity("processor", "words", None, "Host processor"),
    Quantity("processor_count", "count", "processors", "Host processors"),
    Quantity("rack_count", "count", "racks", "Racks that the platform fills; below one for a node"),
    Quantity("accelerators_per_rack", "count", "accelerators", "Accelerators in one rack"),
    Quantity("accelerators_per_node", "count", "accelerators", "Accelerators in one node or tray"),
    Quantity("node_count", "count", "nodes", "Nodes or trays"),
    Quantity(
        "scale_up_aggregate_terabytes_per_second", "scale_up", "TB/s", "Scale-up bandwidth summed over accelerators"
    ),
    Quantity("bisection_terabytes_per_second", "scale_up", "TB/s", "Bandwidth across the platform's middle"),
    Quantity("all_reduce_terabytes_per_second", "bandwidth", "TB/s", "Bandwidth of an all-reduce over the platform"),
    Quantity("memory_total_bytes", "capacity", "bytes", "Accelerator memory summed"),
    Quantity("memory_aggregate_terabytes_per_second", "bandwidth", "TB/s", "Accelerator memory bandwidth summed"),
    Quantity("host_memory_total_bytes", "capacity", "bytes", "Host memory summed"),
    Quantity("fast_memory_total_bytes", "capacity", "bytes", "Accelerator and host memory summed"),
    Quantity("power_kilowatts", "power", "kW", "Power of the platform"),
    Quantity("bf16_petaflops", "compute", "PFLOP/s", "BF16 matrix rate summed"),
    Quantity("fp8_petaflops", "compute", "PFLOP/s", "FP8 matrix rate summed"),
    Quantity("fp4_petaflops", "compute", "PFLOP/s", "FP4 matrix rate summed"),
    Quantity("switch", "words", None, "Switches of the scale-up domain"),
    Quantity("switch_count", "count", "switches", "Switch chips or trays of the scale-up domain"),
    Quantity("leaf_switch_count", "count", "switches", "Leaf switches of the scale-out network"),
    Quantity("spine_switch_count", "count", "switches", "Spine switches of the scale-out network"),
    Quantity("nic", "words", None, "Network adapters for scale-out traffic"),
    Quantity("nic_count", "count", "adapters", "Network adapters for scale-out traffic"),
    Quantity("optical_module_count", "count", "modules", "Optical modules of all networks"),
    Quantity("optical_module_gigabits_per_second", "network", "Gb/s", "Rate of one optical module"),
    Quantity("scale_out_aggregate_terabytes_per_second", "network", "TB/s", "Scale-out bandwidth summed"),
]

QUANTITIES: dict[str, Quantity] = {quantity.name: quantity for quantity in (*_ACCELERATOR, *_PLATFORM)}
"""Every quantity by name; a few, such as `nic_gigabits_per_second`, hold for parts and platforms alike."""

METRICS: dict[str, Quantity] = {quantity.metric: quantity for quantity in QUANTITIES.values()}
"""Every quantity by the metric that names its canonical form."""
