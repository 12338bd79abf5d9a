//! Kernels: put together from the files in `shaders/`, and compiled.

use std::fmt::Write;
use std::sync::OnceLock;

use super::context::Shaders;
use crate::entropy::gpu::alias_records;
use crate::entropy::tables::WEIGHTS;
use crate::upsample::gpu::{Kind, linear_constants};

macro_rules! shader {
    ($($name:literal),*) => { concat!($(include_str!(concat!("../../shaders/", $name, ".wgsl")), "\n"),*) };
}

/// The entropy stage for what most tiles are.
const ENTROPY: &str = shader!("abi", "entropy", "payload", "entropy_pair", "entropy_quad", "entropy_main");
const WORDS: &str = shader!("payload_words");
const HALVES: &str = shader!("payload_halves");
const PORTABLE: &str = shader!("entropy_portable");
const SUBGROUP: &str = shader!("entropy_subgroup");
const ENTROPY_ANY: &str = shader!("abi", "entropy_any", "payload", "payload_words");
const UPSAMPLE_SAMPLES: &str = shader!("abi", "upsample", "upsample_samples");
const UPSAMPLE_PIXELS: &str = shader!("abi", "upsample", "upsample_pixels");
const UPSAMPLE_LINEAR: &str = shader!("upsample_linear");
const UPSAMPLE_ANY: &str = shader!("upsample_any");
const COLOUR: &str = shader!("abi", "colour");
const TENSOR: &str = shader!("abi", "tensor");

/// The binding of the part of a list that a dispatch works through, or of what else it alone needs to know.
pub const RANGE_BINDING: u32 = 8;
/// Dynamic offsets into the buffer of such parts are multiples of this: WebGPU's default.
pub const RANGE_STRIDE: u64 = 256;

/// A kernel's name, its WGSL, and which of its storage buffers it writes.
#[derive(Debug)]
pub struct Source {
    /// The kernel's name.
    pub name: &'static str,
    /// The whole module.
    pub wgsl: String,
    /// Of each storage buffer from binding 0 on: whether it is only read.
    read_only: &'static [bool],
}

/// How a kernel uses a storage buffer: whether it only reads it.
const READ: bool = true;
const WRITE: bool = false;

/// What kernels use beyond what every device has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Variant {
    /// Lanes talk through subgroups of 32.
    pub subgroups: bool,
    /// The payload is loaded in words of 16 bits.
    pub halves: bool,
}

/// The modules as they are compiled.
pub fn sources(variant: Variant) -> Vec<Source> {
    const ENTROPY_BUFFERS: &[bool] = &[READ, READ, READ, READ, READ, WRITE, WRITE];
    const SAMPLES_BUFFERS: &[bool] = &[READ, READ, READ, READ, READ, READ, WRITE];
    const PIXELS_BUFFERS: &[bool] = &[READ, READ, READ, READ, READ, READ, WRITE, WRITE];
    const COLOUR_BUFFERS: &[bool] = &[READ, READ, READ, WRITE];
    const TENSOR_BUFFERS: &[bool] = &[READ, READ, READ, READ, READ, WRITE];
    let (enabled, words) = if variant.halves { ("enable wgpu_int16;\n", HALVES) } else { ("", WORDS) };
    let exchange = if variant.subgroups { SUBGROUP } else { PORTABLE };
    let source = |name, wgsl, read_only| Source { name, wgsl, read_only };
    let upsample = |wgsl: &str, kind: Kind| {
        let exact = format!("const EXACT: bool = {};\n", kind == Kind::Exact);
        match kind {
            Kind::Any => format!("{wgsl}{UPSAMPLE_ANY}{exact}"),
            _ => format!("{wgsl}{UPSAMPLE_LINEAR}{}{exact}", linear_constants()),
        }
    };
    vec![
        source("entropy", format!("{enabled}{ENTROPY}{words}{exchange}{}", weights()), ENTROPY_BUFFERS),
        source("entropy_any", format!("{ENTROPY_ANY}{}", weights_start()), ENTROPY_BUFFERS),
        source("upsample_samples_exact", upsample(UPSAMPLE_SAMPLES, Kind::Exact), SAMPLES_BUFFERS),
        source("upsample_samples_linear", upsample(UPSAMPLE_SAMPLES, Kind::Linear), SAMPLES_BUFFERS),
        source("upsample_samples_any", upsample(UPSAMPLE_SAMPLES, Kind::Any), SAMPLES_BUFFERS),
        source("upsample_pixels_exact", upsample(UPSAMPLE_PIXELS, Kind::Exact), PIXELS_BUFFERS),
        source("upsample_pixels_linear", upsample(UPSAMPLE_PIXELS, Kind::Linear), PIXELS_BUFFERS),
        source("upsample_pixels_any", upsample(UPSAMPLE_PIXELS, Kind::Any), PIXELS_BUFFERS),
        source("colour", COLOUR.into(), COLOUR_BUFFERS),
        source("tensor", TENSOR.into(), TENSOR_BUFFERS),
    ]
}

/// The context weights as literals: loading them would take as long as the sums.
fn weights() -> String {
    let mut out = String::new();
    for (set, bands) in WEIGHTS.iter().enumerate() {
        let list = |items: Vec<String>, kind: &str| format!("{kind}({})", items.join(", "));
        let terms = |terms: &[u32; 9]| list(terms.iter().map(|w| format!("{w}u")).collect(), "array<u32, 9>");
        let rows = |rows: &[[u32; 9]; 2]| list(rows.iter().map(terms).collect(), "array<array<u32, 9>, 2>");
        let halves = |halves: &[[[u32; 9]; 2]; 2]| {
            list(halves.iter().map(rows).collect(), "array<array<array<u32, 9>, 2>, 2>")
        };
        let all = list(bands.iter().map(halves).collect(), "Weights");
        let _ = writeln!(out, "const WEIGHTS_{set} = {all};");
    }
    out
}

fn weights_start() -> String {
    format!("const WEIGHTS_START: u32 = {}u;\n", alias_records().len())
}

/// What `tables` holds: alias entries, then the weights, one an entry.
pub fn tables() -> Vec<[u32; 4]> {
    let mut out = alias_records();
    let weights = WEIGHTS.as_flattened().as_flattened().as_flattened().as_flattened();
    out.extend(weights.iter().map(|&weight| [weight, 0, 0, 0]));
    out
}

/// A kernel. It is compiled when it is first used: few pictures need them all.
#[derive(Debug)]
pub struct Kernel {
    device: wgpu::Device,
    source: Source,
    shaders: Shaders,
    compiled: OnceLock<Compiled>,
}

#[derive(Debug)]
struct Compiled {
    pipeline: wgpu::ComputePipeline,
    layout: wgpu::BindGroupLayout,
}

/// All kernels.
#[derive(Debug)]
pub struct Kernels {
    pub(crate) entropy: Kernel,
    pub(crate) entropy_any: Kernel,
    /// `[to pixels][kind]`
    pub(crate) upsample: [[Kernel; 3]; 2],
    pub(crate) colour: Kernel,
    pub(crate) tensor: Kernel,
    pub(crate) variant: Variant,
}

impl Kernels {
    pub(crate) fn new(device: &wgpu::Device, shaders: Shaders, variant: Variant) -> Self {
        let kernel = |source| Kernel { device: device.clone(), source, shaders, compiled: OnceLock::new() };
        let mut kernels = sources(variant).into_iter().map(kernel);
        let mut next = || kernels.next().unwrap_or_else(|| unreachable!("one kernel a source"));
        Kernels {
            entropy: next(),
            entropy_any: next(),
            upsample: [[next(), next(), next()], [next(), next(), next()]],
            colour: next(),
            tensor: next(),
            variant,
        }
    }
}

impl Kernel {
    pub(crate) fn pipeline(&self) -> &wgpu::ComputePipeline {
        &self.compiled().pipeline
    }

    pub(crate) fn layout(&self) -> &wgpu::BindGroupLayout {
        &self.compiled().layout
    }

    fn compiled(&self) -> &Compiled {
        self.compiled.get_or_init(|| Compiled::new(&self.device, &self.source, self.shaders))
    }
}

impl Compiled {
    fn new(device: &wgpu::Device, source: &Source, shaders: Shaders) -> Self {
        let buffer = |binding: u32, ty, has_dynamic_offset| wgpu::BindGroupLayoutEntry {
            binding,
            visibility: wgpu::ShaderStages::COMPUTE,
            ty: wgpu::BindingType::Buffer { ty, has_dynamic_offset, min_binding_size: None },
            count: None,
        };
        let storage = |(i, &read_only)| buffer(i, wgpu::BufferBindingType::Storage { read_only }, false);
        let mut entries: Vec<_> = (0..).zip(source.read_only).map(storage).collect();
        entries.push(buffer(RANGE_BINDING, wgpu::BufferBindingType::Uniform, true));
        let label = Some(source.name);
        let layout =
            device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label, entries: &entries });
        let pipeline_layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label,
            bind_group_layouts: &[Some(&layout)],
            immediate_size: 0,
        });
        let module = module(device, source, shaders);
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label,
            layout: Some(&pipeline_layout),
            module: &module,
            entry_point: Some("main"),
            compilation_options: wgpu::PipelineCompilationOptions {
                // Kernels write workgroup memory before they read it.
                zero_initialize_workgroup_memory: shaders == Shaders::Checked,
                ..Default::default()
            },
            cache: None,
        });
        Compiled { pipeline, layout }
    }
}

#[allow(unsafe_code, reason = "only so can wgpu leave out the checks of its own")]
fn module(device: &wgpu::Device, source: &Source, shaders: Shaders) -> wgpu::ShaderModule {
    let descriptor = wgpu::ShaderModuleDescriptor {
        label: Some(source.name),
        source: wgpu::ShaderSource::Wgsl(source.wgsl.as_str().into()),
    };
    match shaders {
        Shaders::Checked => device.create_shader_module(descriptor),
        // SAFETY: the kernels index nothing that the host has not bounded: each states how in its first lines, all loops
        // run to bounds from records that only the host writes, and tests decode broken files with sentinels around
        // every buffer.
        Shaders::Trusted => unsafe {
            device.create_shader_module_trusted(descriptor, wgpu::ShaderRuntimeChecks::unchecked())
        },
    }
}
