//! The kernels as text: each validates, and declares what the host declares.

use std::collections::BTreeSet;

use naga::valid::{Capabilities, ValidationFlags, Validator};
use naga::{Expression, Literal, TypeInner};
use stepwell::gpu::{Variant, abi, sources};

fn module(wgsl: &str, name: &str) -> naga::Module {
    let module = naga::front::wgsl::parse_str(wgsl)
        .unwrap_or_else(|error| panic!("{name}: {}", error.emit_to_string(wgsl)));
    Validator::new(ValidationFlags::all(), Capabilities::SUBGROUP | Capabilities::SHADER_INT16)
        .validate(&module)
        .unwrap_or_else(|error| panic!("{name}: {}", error.emit_to_string(wgsl)));
    module
}

/// Every kernel in every variant.
fn modules() -> Vec<(String, naga::Module)> {
    let variants = [(false, false), (false, true), (true, false), (true, true)];
    let all =
        variants.map(|(subgroups, halves)| Variant { subgroups, halves }).into_iter().flat_map(|variant| {
            sources(variant).into_iter().map(move |source| {
                let name = format!("{} ({variant:?})", source.name);
                let module = module(&source.wgsl, &name);
                (name, module)
            })
        });
    all.collect()
}

/// Name, first byte and type.
type Member<'a> = (&'a str, usize, String);

/// Structs: name, bytes and members.
fn structs(module: &naga::Module) -> Vec<(&str, u32, Vec<Member<'_>>)> {
    let mut all = Vec::new();
    for (_, ty) in module.types.iter() {
        if let (Some(name), TypeInner::Struct { members, span }) = (ty.name.as_deref(), &ty.inner) {
            all.push((name, *span, members.iter().map(|m| member(module, m)).collect()));
        }
    }
    all
}

fn member<'a>(module: &naga::Module, member: &'a naga::StructMember) -> Member<'a> {
    let name = member.name.as_deref().expect("members have names");
    (name, member.offset as usize, type_name(module, member.ty))
}

/// A type as Rust writes it.
fn type_name(module: &naga::Module, ty: naga::Handle<naga::Type>) -> String {
    match module.types[ty].inner {
        TypeInner::Scalar(naga::Scalar::U32) => "u32".into(),
        TypeInner::Scalar(naga::Scalar::I32) => "i32".into(),
        TypeInner::Vector { size, scalar: naga::Scalar::U32 } => format!("[u32; {}]", size as u8),
        TypeInner::Array { base, size: naga::ArraySize::Constant(count), .. } => {
            format!("[{}; {count}]", type_name(module, base))
        }
        ref other => format!("{other:?}"),
    }
}

/// Constants that are unsigned numbers.
fn constants(module: &naga::Module) -> Vec<(&str, u32)> {
    let all = module.constants.iter().filter_map(|(_, constant)| {
        let name = constant.name.as_deref()?;
        match module.global_expressions[constant.init] {
            Expression::Literal(Literal::U32(value)) => Some((name, value)),
            _ => None,
        }
    });
    all.collect()
}

#[test]
fn every_kernel_validates() {
    assert_eq!(modules().len(), 4 * sources(Variant::default()).len());
}

/// Structs of every kernel that the host fills lie as the host has them, to the last byte and type.
#[test]
fn records_are_the_hosts() {
    let (records, mut seen) = (abi::records(), BTreeSet::new());
    for (kernel, module) in modules() {
        for (name, bytes, members) in structs(&module) {
            let Some(record) = records.iter().find(|record| record.name == name) else { continue };
            seen.insert(record.name);
            assert_eq!(bytes as usize, record.bytes, "{kernel}: bytes of {name}");
            let members: Vec<_> = members.iter().map(|(name, at, ty)| (*name, *at, ty.as_str())).collect();
            assert_eq!(members, record.fields, "{kernel}: members of {name}");
        }
    }
    assert_eq!(seen.len(), records.len(), "of {seen:?}");
}

/// Constants of every kernel that the host has too have its value.
#[test]
fn constants_are_the_hosts() {
    let mut seen = BTreeSet::new();
    for (kernel, module) in modules() {
        for (name, value) in constants(&module) {
            let Some(&(_, host)) = abi::CONSTANTS.iter().find(|(host, _)| *host == name) else { continue };
            seen.insert(name.to_owned());
            assert_eq!(value, host, "{kernel}: {name}");
        }
    }
    assert_eq!(seen.len(), abi::CONSTANTS.len(), "of {seen:?}");
}

/// Whatever abi.wgsl declares has been compared.
#[test]
fn all_of_the_abi_is_compared() {
    let abi = include_str!("../../shaders/abi.wgsl");
    let module = module(abi, "abi.wgsl");
    for (name, ..) in structs(&module) {
        assert!(abi::records().iter().any(|record| record.name == name), "{name} is no record of the host's");
    }
    assert_eq!(structs(&module).len(), abi::records().len());
    let compared = constants(&module);
    for (name, _) in &compared {
        assert!(abi::CONSTANTS.iter().any(|(host, _)| host == name), "{name} is no constant of the host's");
    }
    assert_eq!(compared.len(), abi.lines().filter(|line| line.starts_with("const ")).count());
}
