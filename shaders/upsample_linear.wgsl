// Coefficients of linear predictors as literals, for planes of at most 14 bits. Part of upsample.wgsl.

fn shift_of(plane: Plane) -> u32 {
    return 0u;
}

fn window_sum(plane: Plane, taps: Taps, band: u32, a: Row, b: Row, c: Row, d: Row, e: Row, h0: i32) -> i32 {
    return weighted(taps, a, b, c, d, e) + taps.t6.y * h0;
}

fn symbol_at(chunk: Chunk, row: u32, column: u32) -> i32 {
    return narrow_symbol(chunk, row, column);
}

fn means(plane: Plane, place: Place, symbols: Before, near: Before, far: Before) -> Values {
    switch plane.linear_set {
        case 0u: { return means_pass(plane, LINEAR_0_0, place, symbols, near, far); }
        case 1u: { return means_pass(plane, LINEAR_1_0, place, symbols, near, far); }
        case 2u: { return means_pass(plane, LINEAR_2_0, place, symbols, near, far); }
        case 3u: { return means_pass(plane, LINEAR_3_0, place, symbols, near, far); }
        default: { return means_pass(plane, Taps(), place, symbols, near, far); }
    }
}

fn quads(plane: Plane, place: Place, symbols: Before, near: Before, far: Before, residuals: ptr<function, Values>) -> Quads {
    switch plane.linear_set {
        case 0u: { return quads_pass(plane, LINEAR_0_1, LINEAR_0_2, place, symbols, near, far, residuals); }
        case 1u: { return quads_pass(plane, LINEAR_1_1, LINEAR_1_2, place, symbols, near, far, residuals); }
        case 2u: { return quads_pass(plane, LINEAR_2_1, LINEAR_2_2, place, symbols, near, far, residuals); }
        case 3u: { return quads_pass(plane, LINEAR_3_1, LINEAR_3_2, place, symbols, near, far, residuals); }
        default: { return quads_pass(plane, Taps(), Taps(), place, symbols, near, far, residuals); }
    }
}

// Residuals that later planes see have 16 bits (SPEC 11): two to a word leave room for more workgroups.
struct Before { words: vec3<u32>, border: i32 }

fn kept_of(v: Values) -> Before {
    return Before(
        vec3<u32>(
            two_in_one(v.first.x, v.first.y), two_in_one(v.first.z, v.second.x), two_in_one(v.second.y, v.second.z),
        ),
        extractBits(v.border, 0u, 16u),
    );
}

fn two_in_one(low: i32, high: i32) -> u32 {
    return (bitcast<u32>(low) & 0xffffu) | (bitcast<u32>(high) << 16u);
}

fn low(word: u32) -> i32 {
    return extractBits(bitcast<i32>(word), 0u, 16u);
}

fn high(word: u32) -> i32 {
    return bitcast<i32>(word) >> 16u;
}

fn first_of(before: Before) -> vec3<i32> {
    return vec3<i32>(low(before.words.x), high(before.words.x), low(before.words.y));
}

fn second_of(before: Before) -> vec3<i32> {
    return vec3<i32>(high(before.words.y), low(before.words.z), high(before.words.z));
}

fn border_of(before: Before) -> i32 {
    return before.border;
}

fn seen_by(plane: Plane, residual: i32) -> i32 {
    return residual;
}
