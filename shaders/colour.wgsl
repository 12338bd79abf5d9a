// Colour stage: coded planes → samples, planar, a word each. CPU twin: `colour/cpu.rs`.
//
// Dispatch: x, y = blocks of 16 × 16 pixels; z = index into the `range` of `conversions`.

@group(0) @binding(0) var<storage, read> conversions: array<Conversion>;
@group(0) @binding(1) var<storage, read> kept: array<Kept>;
@group(0) @binding(2) var<storage, read> samples: array<i32>;
@group(0) @binding(3) var<storage, read_write> output: array<i32>;
@group(0) @binding(8) var<uniform> range: Range;

fn rgb_from_ycocg(coded: vec3<i32>) -> vec3<i32> {
    let t = coded.x - (coded.z >> 1u);
    let blue = t - (coded.y >> 1u);
    return vec3<i32>(blue + coded.y, coded.z + t, blue);
}

fn sample_from_coded(coded: i32, fraction_bits: u32, low: i32, high: i32) -> i32 {
    let half = (1 << fraction_bits) >> 1u;
    return clamp((coded + half) >> fraction_bits, low, high);
}

fn coded_at(conversion: Conversion, at: u32) -> i32 {
    let coded = samples[at];
    return select(coded, extractBits(coded, 0u, 16u), conversion.wraps == 1u);
}

@compute @workgroup_size(16, 16)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let conversion = conversions[range.first + id.z];
    if id.x >= conversion.width || id.y >= conversion.height {
        return;
    }
    let at = conversion.from_first + id.y * conversion.from_stride + id.x;
    var rgb = vec3<i32>(0);
    if conversion.colour_first != NOTHING {
        let first = at + conversion.colour_first * conversion.from_plane;
        rgb = rgb_from_ycocg(vec3<i32>(
            coded_at(conversion, first),
            coded_at(conversion, first + conversion.from_plane),
            coded_at(conversion, first + 2u * conversion.from_plane),
        ));
    }
    for (var k = 0u; k < conversion.planes; k++) {
        let plane = kept[conversion.kept + k];
        let colour = plane.plane - conversion.colour_first;
        var coded = 0;
        if conversion.colour_first != NOTHING && colour < 3u {
            coded = rgb[colour];
        } else {
            coded = coded_at(conversion, at + plane.plane * conversion.from_plane);
        }
        output[conversion.to_first + k * conversion.to_plane + id.y * conversion.to_stride + id.x] =
            sample_from_coded(coded, conversion.fraction_bits, plane.low, plane.high);
    }
}
