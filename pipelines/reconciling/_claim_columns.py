"""Which metric of a claim a published quantity is, in which scope, and what one of it is in the canonical unit."""

from __future__ import annotations

QUANTITIES: dict[str, tuple[str, str, float, str | None]] = {
    "memory_bytes": ("memory_capacity", "accelerator", 1e-9, None),
    "memory_bandwidth_gigabytes_per_second": ("memory_bandwidth", "accelerator", 1.0, None),
    "scale_up_gigabytes_per_second": ("scale_up_bandwidth", "accelerator", 1.0, None),
    "scale_up_domain_accelerators": ("accelerators", "domain", 1.0, None),
    "scale_up_link_count": ("links", "accelerator", 1.0, None),
    "nic_gigabits_per_second": ("scale_out_bandwidth", "accelerator", 0.125, None),
    "power_watts": ("power", "accelerator", 1e-3, None),
    "die_count": ("dies", "accelerator", 1.0, None),
    "accelerator_count": ("accelerators", "whole", 1.0, None),
    "active_accelerator_count": ("accelerators", "active", 1.0, None),
    "accelerators_per_rack": ("accelerators", "rack", 1.0, None),
    "accelerators_per_node": ("accelerators", "node", 1.0, None),
    "processor_count": ("cpus", "whole", 1.0, None),
    "rack_count": ("racks", "whole", 1.0, None),
    "node_count": ("compute_trays", "whole", 1.0, None),
    "switch_count": ("switch_chips", "whole", 1.0, None),
    "leaf_switch_count": ("leaf_switches", "whole", 1.0, None),
    "spine_switch_count": ("spine_switches", "whole", 1.0, None),
    "nic_count": ("nics", "whole", 1.0, None),
    "scale_up_aggregate_terabytes_per_second": ("scale_up_bandwidth", "whole", 1e3, None),
    "bisection_terabytes_per_second": ("scale_up_bandwidth", "whole", 1e3, None),
    "scale_out_aggregate_terabytes_per_second": ("scale_out_bandwidth", "whole", 1e3, None),
    "memory_aggregate_terabytes_per_second": ("memory_bandwidth", "whole", 1e3, None),
    "memory_total_bytes": ("memory_capacity", "whole", 1e-9, None),
    "host_memory_total_bytes": ("cpu_memory", "whole", 1e-9, None),
    "fast_memory_total_bytes": ("fast_memory", "whole", 1e-9, None),
    "power_kilowatts": ("power", "whole", 1.0, None),
    "optical_module_count": ("optical_modules", "whole", 1.0, None),
    "optical_module_gigabits_per_second": ("optical_rate", "port", 0.125, None),
    **{
        f"{name}_teraflops": ("peak_compute", "accelerator", 1.0, name.upper())
        for name in ("tf32", "bf16", "fp16", "fp8", "fp4", "fp64", "fp32")
    },
    **{f"{name}_petaflops": ("peak_compute", "whole", 1e3, name.upper()) for name in ("bf16", "fp8", "fp4")},
    "int8_teraops": ("peak_compute", "accelerator", 1.0, "INT8"),
}


RESOLVED = {
    "memory_bytes": "memory_bytes",
    "memory_bandwidth_gigabytes_per_second": "memory_bandwidth_gigabytes_per_second",
    "scale_up_gigabytes_per_second_per_direction": "scale_up_gigabytes_per_second",
    "scale_up_domain_accelerators": "scale_up_domain_accelerators",
    "nic_gigabits_per_second": "nic_gigabits_per_second",
    "power_watts": "power_watts",
    "die_count": "die_count",
    "bf16_dense_teraflops": "bf16_teraflops",
    "fp8_dense_teraflops": "fp8_teraflops",
    "fp4_dense_teraflops": "fp4_teraflops",
    "accelerator_count": "accelerator_count",
    "accelerators_per_rack": "accelerators_per_rack",
    "accelerators_per_node": "accelerators_per_node",
    "processor_count": "processor_count",
    "rack_count": "rack_count",
    "power_kilowatts": "power_kilowatts",
    "scale_up_aggregate_terabytes_per_second_per_direction": "scale_up_aggregate_terabytes_per_second",
    "memory_total_bytes": "memory_total_bytes",
    "fast_memory_total_bytes": "fast_memory_total_bytes",
    "bf16_dense_petaflops": "bf16_petaflops",
    "fp8_dense_petaflops": "fp8_petaflops",
    "fp4_dense_petaflops": "fp4_petaflops",
}
