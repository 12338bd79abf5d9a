//! The kernels as text: each validates, and declares what the host declares.

use naga::valid::{Capabilities, ValidationFlags, Validator};
use stepwell::gpu::{Variant, sources};

fn module(wgsl: &str, name: &str) -> naga::Module {
    let module = naga::front::wgsl::parse_str(wgsl)
        .unwrap_or_else(|error| panic!("{name}: {}", error.emit_to_string(wgsl)));
    Validator::new(ValidationFlags::all(), Capabilities::SUBGROUP | Capabilities::SHADER_INT16)
        .validate(&module)
        .unwrap_or_else(|error| panic!("{name}: {}", error.emit_to_string(wgsl)));
    module
}

#[test]
fn every_kernel_validates() {
    for (subgroups, halves) in [(false, false), (false, true), (true, false), (true, true)] {
        for source in sources(Variant { subgroups, halves }) {
            module(&source.wgsl, source.name);
        }
    }
}
