// Where samples of 8 bits go that come out as RGBA: to `pixels`, the colour stage applied. Part of upsample.wgsl.
// CPU twin: `colour/cpu.rs`.

@group(0) @binding(7) var<storage, read_write> pixels: array<u32>;

// Of the last four planes, the last first: two lines in one word, since coded samples that come out as pixels have 16
// bits (SPEC 13).
struct Packed { ab: vec4<u32>, cd: vec4<u32> }
var<private> last0: Packed;
var<private> last1: Packed;
var<private> last2: Packed;
var<private> last3: Packed;

fn two_lines(low: vec4<i32>, high: vec4<i32>) -> vec4<u32> {
    return (bitcast<vec4<u32>>(low) & vec4<u32>(0xffffu)) | (bitcast<vec4<u32>>(high) << vec4<u32>(16u));
}

fn emit(block: Block, plane: u32, lines: Lines, place: Place) {
    last3 = last2;
    last2 = last1;
    last1 = last0;
    last0 = Packed(two_lines(lines.a, lines.b), two_lines(lines.c, lines.d));
}

fn low_line(words: vec4<u32>) -> vec4<i32> {
    return extractBits(bitcast<vec4<i32>>(words), 0u, 16u);
}

fn high_line(words: vec4<u32>) -> vec4<i32> {
    return bitcast<vec4<i32>>(words) >> vec4<u32>(16u);
}

// Fraction bits removed with rounding, and clamped to 8 bits.
fn sample_from_coded(coded: vec4<i32>, fraction_bits: u32) -> vec4<u32> {
    let half = (1 << fraction_bits) >> 1u;
    return bytes_of((coded + vec4<i32>(half)) >> vec4<u32>(fraction_bits));
}

fn bytes_of(values: vec4<i32>) -> vec4<u32> {
    return bitcast<vec4<u32>>(clamp(values, vec4<i32>(0), vec4<i32>(255)));
}

fn pixels_of(r: vec4<u32>, g: vec4<u32>, b: vec4<u32>, alpha: vec4<u32>) -> vec4<u32> {
    return r | (g << vec4<u32>(8u)) | (b << vec4<u32>(16u)) | (alpha << vec4<u32>(24u));
}

// Four pixels from their planes, the last plane first.
fn rgba(flags: u32, l0: vec4<i32>, l1: vec4<i32>, l2: vec4<i32>, l3: vec4<i32>) -> vec4<u32> {
    // Most are Y, Co, Cg without fraction.
    if flags == OUTPUT_YCOCG {
        let t = l2 - (l0 >> vec4<u32>(1u));
        let blue = t - (l1 >> vec4<u32>(1u));
        return pixels_of(bytes_of(blue + l1), bytes_of(l0 + t), bytes_of(blue), vec4<u32>(255u));
    }
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
    return pixels_of(sample_from_coded(r, bits), sample_from_coded(g, bits), sample_from_coded(b, bits), alpha);
}

// A line of pixels, to `room`.
fn put_line(block: Block, at: u32, l0: vec4<i32>, l1: vec4<i32>, l2: vec4<i32>, l3: vec4<i32>) {
    let pixels = bitcast<vec4<i32>>(rgba(block.output, l0, l1, l2, l3));
    room[at] = pixels.xy;
    room[at + 1u] = pixels.zw;
}

// Brings the pixels to `room` first, so that neighbours are stored by neighbours.
fn finish(block: Block, place: Place, row: u32, invocation: u32) {
    workgroupBarrier();
    // A line of a tile's pixels takes as many pairs as it has quads.
    let side_log2 = block.strip >> 16u;
    let at = ((4u * row) << side_log2) + 2u * place.pair;
    put_line(block, at, low_line(last0.ab), low_line(last1.ab), low_line(last2.ab), low_line(last3.ab));
    put_line(block, at + (1u << side_log2), high_line(last0.ab), high_line(last1.ab), high_line(last2.ab), high_line(last3.ab));
    put_line(block, at + (2u << side_log2), low_line(last0.cd), low_line(last1.cd), low_line(last2.cd), low_line(last3.cd));
    put_line(block, at + (3u << side_log2), high_line(last0.cd), high_line(last1.cd), high_line(last2.cd), high_line(last3.cd));
    workgroupBarrier();
    let x = 2u * (invocation & ((1u << side_log2) - 1u));
    let x_first = block.clip_x & 0xffffu;
    let x_end = block.clip_x >> 16u;
    let has_first = x >= x_first && x < x_end;
    let has_second = x + 1u >= x_first && x + 1u < x_end;
    let y_first = max(2u * (block.strip & 255u), block.clip_y & 0xffffu);
    let y_end = min(2u * ((block.strip & 255u) + ((block.strip >> 8u) & 255u)), block.clip_y >> 16u);
    for (var i = invocation; i < 8u * WORKGROUP; i += WORKGROUP) {
        let y = 2u * (block.strip & 255u) + (i >> side_log2);
        if y >= y_first && y < y_end {
            let pair = bitcast<vec2<u32>>(room[i]);
            let to = block.out + y * block.out_stride + x;
            if has_first {
                pixels[to] = pair.x;
            }
            if has_second {
                pixels[to + 1u] = pair.y;
            }
        }
    }
}
