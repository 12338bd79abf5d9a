// Coefficients of all predictors from a buffer, for planes of any depth. Part of upsample.wgsl.

const ACTIVITY_CAP: u32 = 16383u;

fn shift_of(plane: Plane) -> u32 {
    return plane.sample_shift;
}

fn taps_at(start: u32) -> Taps {
    return Taps(
        coefficients[start], coefficients[start + 1u], coefficients[start + 2u], coefficients[start + 3u],
        coefficients[start + 4u], coefficients[start + 5u], coefficients[start + 6u],
    );
}

fn activity(difference: i32, shift: u32) -> u32 {
    return min(bitcast<u32>(abs(difference)) >> shift, ACTIVITY_CAP);
}

// Nine directions × four activities: `class_of` of upsample/mod.rs.
fn class_of(b: Row, c: Row, d: Row, shift: u32) -> u32 {
    let m = c.left.z;
    let gh = activity(c.left.y - m, shift) + activity(c.left.w - m, shift);
    let gv = activity(b.left.z - m, shift) + activity(d.left.z - m, shift);
    let d1 = activity(b.left.y - m, shift) + activity(d.left.w - m, shift);
    let d2 = activity(b.left.w - m, shift) + activity(d.left.y - m, shift);
    let hx = max(gh, gv);
    let hn = min(gh, gv);
    let dx = max(d1, d2);
    let dn = min(d1, d2);
    let straight = hx * dn > dx * hn;
    let high = select(dx, hx, straight);
    let low = select(dn, hn, straight);
    let first = select(5u + select(0u, 1u, d2 >= d1), 1u + select(0u, 1u, gv >= gh), straight);
    let direction = select(0u, first + 2u, high > 2u * low) - select(0u, 2u, 2u * high > 9u * low);
    let sum = gh + gv;
    return 9u * (select(0u, 1u, sum >= 6u) + select(0u, 1u, sum >= 16u) + select(0u, 1u, sum >= 44u)) + direction;
}

fn scaled(row: Row, centre: i32, shift: u32) -> Row {
    return Row((row.left - vec4<i32>(centre)) >> vec4<u32>(shift), (row.right - centre) >> shift);
}

fn window_sum(plane: Plane, taps: Taps, band: u32, a: Row, b: Row, c: Row, d: Row, e: Row, h0: i32) -> i32 {
    if plane.predictor == PREDICTOR_NONE {
        return 0;
    }
    var start = plane.coefficients + band * plane.band_stride;
    if plane.predictor == PREDICTOR_CLASSED {
        start += class_of(b, c, d, plane.activity_shift) * WINDOW_VECTORS;
    }
    let chosen = taps_at(start);
    let s = plane.sample_shift;
    if s > 0u {
        let m = c.left.z;
        return weighted(chosen, scaled(a, m, s), scaled(b, m, s), scaled(c, m, s), scaled(d, m, s), scaled(e, m, s))
            + chosen.t6.y * (h0 >> s);
    }
    return weighted(chosen, a, b, c, d, e) + chosen.t6.y * h0;
}

alias Cell = vec2<i32>;

fn cell_of(pair: vec2<i32>) -> Cell {
    return pair;
}

fn pair_of(cell: Cell) -> vec2<i32> {
    return cell;
}

fn cell_of_word(word: u32) -> Cell {
    return vec2<i32>(extractBits(bitcast<i32>(word), 0u, 16u), bitcast<i32>(word) >> 16u);
}

fn means(plane: Plane, place: Place, symbols: Cells, near: Cells, far: Cells) -> Cells {
    return means_pass(plane, Taps(), place, symbols, near, far);
}

fn quads(plane: Plane, place: Place, symbols: Cells, near: Cells, far: Cells, residuals: ptr<function, Cells>) -> Lines {
    return quads_pass(plane, Taps(), Taps(), place, symbols, near, far, residuals);
}

// Residuals of another plane: of 16 bits where this one has few (SPEC 11).
fn seen_by(plane: Plane, residuals: Cell) -> vec2<i32> {
    return select(residuals, extractBits(residuals, 0u, 16u), plane.wraps == 1u);
}
