// Coefficients of predictors without classes as literals, for planes of at most 14 bits. Part of upsample.wgsl.

fn shift_of(plane: Plane) -> u32 {
    return 0u;
}

fn window_sum(plane: Plane, taps: Taps, band: u32, a: Row, b: Row, c: Row, d: Row, e: Row, h0: i32) -> i32 {
    return weighted(taps, a, b, c, d, e) + taps.t6.y * h0;
}

fn means(plane: Plane, place: Place, symbols: Cells, near: Cells, far: Cells) -> Cells {
    switch plane.linear_set {
        case 0u: { return means_pass(plane, LINEAR_0_0, place, symbols, near, far); }
        case 1u: { return means_pass(plane, LINEAR_1_0, place, symbols, near, far); }
        case 2u: { return means_pass(plane, LINEAR_2_0, place, symbols, near, far); }
        case 3u: { return means_pass(plane, LINEAR_3_0, place, symbols, near, far); }
        case 4u: { return means_pass(plane, LINEAR_4_0, place, symbols, near, far); }
        case 5u: { return means_pass(plane, LINEAR_5_0, place, symbols, near, far); }
        case 6u: { return means_pass(plane, LINEAR_6_0, place, symbols, near, far); }
        case 7u: { return means_pass(plane, LINEAR_7_0, place, symbols, near, far); }
        default: { return means_pass(plane, Taps(), place, symbols, near, far); }
    }
}

fn quads(plane: Plane, place: Place, symbols: Cells, near: Cells, far: Cells, residuals: ptr<function, Cells>) -> Lines {
    switch plane.linear_set {
        case 0u: { return quads_pass(plane, LINEAR_0_1, LINEAR_0_2, place, symbols, near, far, residuals); }
        case 1u: { return quads_pass(plane, LINEAR_1_1, LINEAR_1_2, place, symbols, near, far, residuals); }
        case 2u: { return quads_pass(plane, LINEAR_2_1, LINEAR_2_2, place, symbols, near, far, residuals); }
        case 3u: { return quads_pass(plane, LINEAR_3_1, LINEAR_3_2, place, symbols, near, far, residuals); }
        case 4u: { return quads_pass(plane, LINEAR_4_1, LINEAR_4_2, place, symbols, near, far, residuals); }
        case 5u: { return quads_pass(plane, LINEAR_5_1, LINEAR_5_2, place, symbols, near, far, residuals); }
        case 6u: { return quads_pass(plane, LINEAR_6_1, LINEAR_6_2, place, symbols, near, far, residuals); }
        case 7u: { return quads_pass(plane, LINEAR_7_1, LINEAR_7_2, place, symbols, near, far, residuals); }
        default: { return quads_pass(plane, Taps(), Taps(), place, symbols, near, far, residuals); }
    }
}

// Symbols and residuals have 16 bits (SPEC 11): two to a word leave room for more workgroups.
alias Cell = u32;

fn cell_of(pair: vec2<i32>) -> Cell {
    return (bitcast<u32>(pair.x) & 0xffffu) | (bitcast<u32>(pair.y) << 16u);
}

fn pair_of(cell: Cell) -> vec2<i32> {
    return vec2<i32>(extractBits(bitcast<i32>(cell), 0u, 16u), bitcast<i32>(cell) >> 16u);
}

fn cell_of_word(word: u32) -> Cell {
    return word;
}

fn seen_by(plane: Plane, residuals: Cell) -> vec2<i32> {
    return pair_of(residuals);
}
