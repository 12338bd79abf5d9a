// Where samples of 8 bits go that come out as RGBA: to `pixels`, the colour stage applied. Part of upsample.wgsl.
// CPU twin: `colour/cpu.rs`.

@group(0) @binding(7) var<storage, read_write> pixels: array<u32>;

// Of the last four planes, the last first: both quads in one word, since coded samples that come out as pixels have 16
// bits (SPEC 13).
var<private> last0: vec4<u32>;
var<private> last1: vec4<u32>;
var<private> last2: vec4<u32>;
var<private> last3: vec4<u32>;

fn emit(block: Block, plane: u32, quads: Quads, place: Place, exists: bool) {
    last3 = last2;
    last2 = last1;
    last1 = last0;
    last0 = (bitcast<vec4<u32>>(quads.first) & vec4<u32>(0xffffu)) | (bitcast<vec4<u32>>(quads.second) << vec4<u32>(16u));
}

fn first(quads: vec4<u32>) -> vec4<i32> {
    return extractBits(bitcast<vec4<i32>>(quads), 0u, 16u);
}

fn second(quads: vec4<u32>) -> vec4<i32> {
    return bitcast<vec4<i32>>(quads) >> vec4<u32>(16u);
}

// Fraction bits removed with rounding, and clamped to 8 bits.
fn sample_from_coded(coded: vec4<i32>, fraction_bits: u32) -> vec4<u32> {
    let half = (1 << fraction_bits) >> 1u;
    return bitcast<vec4<u32>>(clamp((coded + vec4<i32>(half)) >> vec4<u32>(fraction_bits), vec4<i32>(0), vec4<i32>(255)));
}

// Four pixels from their planes, the last plane first.
fn rgba(flags: u32, l0: vec4<i32>, l1: vec4<i32>, l2: vec4<i32>, l3: vec4<i32>) -> vec4<u32> {
    let has_alpha = (flags & OUTPUT_ALPHA) != 0u;
    var r = select(l2, l3, has_alpha);
    var g = select(l1, l2, has_alpha);
    var b = select(l0, l1, has_alpha);
    if (flags & OUTPUT_GRAY) != 0u {
        r = l0;
        g = l0;
        b = l0;
    }
    if (flags & OUTPUT_YCOCG) != 0u {
        let t = r - (b >> vec4<u32>(1u));
        let green = b + t;
        b = t - (g >> vec4<u32>(1u));
        r = b + g;
        g = green;
    }
    let bits = flags >> 8u;
    let alpha = select(vec4<u32>(255u), sample_from_coded(l0, bits), has_alpha);
    return sample_from_coded(r, bits) | (sample_from_coded(g, bits) << vec4<u32>(8u))
        | (sample_from_coded(b, bits) << vec4<u32>(16u)) | (alpha << vec4<u32>(24u));
}

fn put(block: Block, x: u32, y: u32, value: u32) {
    let wanted = x >= (block.clip_x & 0xffffu) && x < (block.clip_x >> 16u)
        && y >= (block.clip_y & 0xffffu) && y < (block.clip_y >> 16u);
    if wanted {
        pixels[block.out + y * block.out_stride + x] = value;
    }
}

fn put_quad(block: Block, place: Place, y: u32, quad: vec4<u32>) {
    let x = 2u * place.x;
    put(block, x, 2u * y, quad.x);
    if place.has_right {
        put(block, x + 1u, 2u * y, quad.y);
    }
    if y < place.v_rows {
        put(block, x, 2u * y + 1u, quad.z);
        if place.has_right {
            put(block, x + 1u, 2u * y + 1u, quad.w);
        }
    }
}

fn finish(block: Block, place: Place, exists: bool) {
    if place.y < place.end {
        put_quad(block, place, place.y, rgba(block.output, first(last0), first(last1), first(last2), first(last3)));
    }
    if place.y + 1u < place.end {
        put_quad(block, place, place.y + 1u, rgba(block.output, second(last0), second(last1), second(last2), second(last3)));
    }
}
