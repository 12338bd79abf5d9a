//! The kernels as text: each validates, and declares what the host declares.

use naga::valid::{Capabilities, ValidationFlags, Validator};
use stepwell::gpu::sources;

fn module(wgsl: &str, name: &str) -> naga::Module {
    let module = naga::front::wgsl::parse_str(wgsl)
        .unwrap_or_else(|error| panic!("{name}: {}", error.emit_to_string(wgsl)));
    Validator::new(ValidationFlags::all(), Capabilities::SUBGROUP)
        .validate(&module)
        .unwrap_or_else(|error| panic!("{name}: {}", error.emit_to_string(wgsl)));
    module
}

#[test]
fn every_kernel_validates() {
    for subgroups in [false, true] {
        for source in sources(subgroups) {
            module(&source.wgsl, source.name);
        }
    }
}
