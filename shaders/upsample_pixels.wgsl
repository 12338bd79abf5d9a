// Where samples of 8 bits go that come out as RGBA: to `pixels`, the colour stage applied. Part of upsample.wgsl.
// CPU twin: `colour/cpu.rs`.

@group(0) @binding(7) var<storage, read_write> pixels: array<u32>;

var<private> colours: array<array<vec4<i32>, 4>, 4>;

fn emit(block: Block, plane: u32, i: u32, quad: vec4<i32>, x: u32, y: u32, has_right: bool, has_lower: bool) {
    colours[plane & 3u][i] = quad;
}

// Fraction bits removed with rounding, and clamped to 8 bits.
fn sample_from_coded(coded: vec4<i32>, fraction_bits: u32) -> vec4<u32> {
    let half = (1 << fraction_bits) >> 1u;
    return bitcast<vec4<u32>>(clamp((coded + vec4<i32>(half)) >> vec4<u32>(fraction_bits), vec4<i32>(0), vec4<i32>(255)));
}

fn put(block: Block, x: u32, y: u32, value: u32) {
    let wanted = x >= (block.clip_x & 0xffffu) && x < (block.clip_x >> 16u)
        && y >= (block.clip_y & 0xffffu) && y < (block.clip_y >> 16u);
    if wanted {
        pixels[block.out + y * block.out_stride + x] = value;
    }
}

fn finish(block: Block, x: u32, first: u32, end: u32, h_columns: u32, v_rows: u32) {
    let fraction_bits = block.output >> 8u;
    for (var i = 0u; i < QUADS; i++) {
        let y = first + i;
        if y < end {
            var r = colours[0][i];
            var g = colours[1][i];
            var b = colours[2][i];
            if (block.output & OUTPUT_GRAY) != 0u {
                g = r;
                b = r;
            }
            if (block.output & OUTPUT_YCOCG) != 0u {
                let t = r - (b >> vec4<u32>(1u));
                let green = b + t;
                let blue = t - (g >> vec4<u32>(1u));
                r = blue + g;
                g = green;
                b = blue;
            }
            var rgba = sample_from_coded(r, fraction_bits) | (sample_from_coded(g, fraction_bits) << vec4<u32>(8u))
                | (sample_from_coded(b, fraction_bits) << vec4<u32>(16u));
            if (block.output & OUTPUT_ALPHA) != 0u {
                rgba |= sample_from_coded(colours[3][i], fraction_bits) << vec4<u32>(24u);
            } else {
                rgba |= vec4<u32>(0xff000000u);
            }
            put(block, 2u * x, 2u * y, rgba.x);
            if x < h_columns {
                put(block, 2u * x + 1u, 2u * y, rgba.y);
            }
            if y < v_rows {
                put(block, 2u * x, 2u * y + 1u, rgba.z);
            }
            if x < h_columns && y < v_rows {
                put(block, 2u * x + 1u, 2u * y + 1u, rgba.w);
            }
        }
    }
}
