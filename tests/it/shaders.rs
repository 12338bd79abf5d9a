//! The kernels as text: each validates, and declares what the host declares.

use naga::valid::{Capabilities, ValidationFlags, Validator};
use stepwell::gpu::{Variant, abi, sources};

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

/// Each record has the same fields in the same places, and each constant the same value.
#[test]
fn host_and_kernels_agree() {
    let module = module(include_str!("../../shaders/abi.wgsl"), "abi");
    let fields = |name: &str| -> Vec<(String, usize)> {
        let found = module.types.iter().find(|(_, ty)| ty.name.as_deref() == Some(name));
        let Some((_, naga::Type { inner: naga::TypeInner::Struct { members, .. }, .. })) = found else {
            panic!("no struct {name}")
        };
        members.iter().map(|m| (m.name.clone().unwrap_or_default(), m.offset as usize)).collect()
    };
    for (name, layout) in [
        ("Chunk", abi::Chunk::LAYOUT),
        ("Block", abi::Block::LAYOUT),
        ("Plane", abi::Plane::LAYOUT),
        ("Conversion", abi::Conversion::LAYOUT),
        ("Kept", abi::Kept::LAYOUT),
        ("Tensor", abi::Tensor::LAYOUT),
        ("TensorPicture", abi::TensorPicture::LAYOUT),
        ("TensorSource", abi::TensorSource::LAYOUT),
        ("Range", abi::Range::LAYOUT),
    ] {
        let expected: Vec<(String, usize)> = layout.iter().map(|&(f, at)| (f.to_string(), at)).collect();
        assert_eq!(fields(name), expected, "{name}");
    }
    let value = |name: &str| -> u32 {
        let found = module.constants.iter().find(|(_, constant)| constant.name.as_deref() == Some(name));
        let (_, constant) = found.unwrap_or_else(|| panic!("no constant {name}"));
        match module.global_expressions[constant.init] {
            naga::Expression::Literal(naga::Literal::U32(value)) => value,
            ref other => panic!("{name} is {other:?}"),
        }
    };
    for (name, expected) in [
        ("CHUNK_EMPTY", abi::CHUNK_EMPTY),
        ("CHUNK_WIDE", abi::CHUNK_WIDE),
        ("MODEL_ROWS", abi::MODEL_ROWS as u32),
        ("WINDOW_VECTORS", abi::WINDOW_VECTORS as u32),
        ("NOTHING", abi::NOTHING),
        ("GROUP_WORDS", abi::GROUP_WORDS as u32),
        ("GROUP_SET", abi::GROUP_SET),
        ("GROUP_QUADS", abi::GROUP_QUADS),
        ("OUTPUT_YCOCG", abi::OUTPUT_YCOCG),
        ("OUTPUT_ALPHA", abi::OUTPUT_ALPHA),
        ("OUTPUT_GRAY", abi::OUTPUT_GRAY),
        ("TENSOR_ELEMENTS", abi::TENSOR_ELEMENTS),
        ("TENSOR_ONE", abi::TENSOR_ONE),
    ] {
        assert_eq!(value(name), expected, "{name}");
    }
}
