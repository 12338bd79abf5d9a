// Residual and upsample stage: symbols and the level above → samples. CPU twins: `residual/mod.rs`, `upsample/cpu.rs`.
//
// A workgroup rebuilds some rows of quads of a tile, one plane after the other; an invocation two quads, one below the
// other, and V of a third where its row borders on the block. Windows end at the tile's edge, so nothing is needed but
// the quads the tile covers in the level above, and V of one more row on both sides.
// Where coefficients come from is in upsample_linear.wgsl or upsample_any.wgsl; what becomes of the samples in
// upsample_samples.wgsl or upsample_pixels.wgsl.
// Dispatch: x + y * num_workgroups.x = index into the `range` of `blocks`.
// Invariant: (3 rows + 10) × side of a block is at most `ROOM` (the host sees to it), so `room` holds its windows.

@group(0) @binding(0) var<storage, read> narrow: array<u32>;
@group(0) @binding(1) var<storage, read> wide: array<i32>;
@group(0) @binding(2) var<storage, read> chunks: array<Chunk>;
@group(0) @binding(3) var<storage, read> blocks: array<Block>;
@group(0) @binding(4) var<storage, read> planes: array<Plane>;
@group(0) @binding(5) var<storage, read> coefficients: array<vec4<i32>>;
@group(0) @binding(6) var<storage, read_write> samples: array<i32>;
@group(0) @binding(8) var<uniform> range: Range;

const ROOM: u32 = 2816u;

// Samples of the level above, then row means, both `side` to a row.
var<workgroup> room: array<i32, ROOM>;

struct Row { left: vec4<i32>, right: i32 }
struct Taps { t0: vec4<i32>, t1: vec4<i32>, t2: vec4<i32>, t3: vec4<i32>, t4: vec4<i32>, t5: vec4<i32>, t6: vec4<i32> }

// Where an invocation stands, and what it rebuilds of a plane.
struct Place {
    // Columns of a window; at the tile's edge its edge column.
    left: vec4<u32>,
    right: u32,
    // First row of quads, the first behind the block, and the one bordering on it.
    y: u32,
    end: u32,
    border: u32,
    has_border: bool,
    // Quads from here on have no lower half, or no right one.
    v_rows: u32,
    has_right: bool,
    // Rows of quads of the tile, and the last row of means.
    rows: u32,
    last_mean: u32,
    // Where `room` has row 0 of the level above, and of the means, if it had it.
    above: u32,
    means: u32,
    side_log2: u32,
}

// Symbols or residuals of the two quads, and V of the bordering one.
struct Values { first: vec3<i32>, second: vec3<i32>, border: i32 }

// `a b / c d` of the two quads.
struct Quads { first: vec4<i32>, second: vec4<i32> }

fn window_row(place: Place, start: u32) -> Row {
    return Row(
        vec4<i32>(
            room[start + place.left.x], room[start + place.left.y], room[start + place.left.z], room[start + place.left.w],
        ),
        room[start + place.right],
    );
}

// The rows of a window; beyond the tile its first or last row.
fn above_row(place: Place, y: i32) -> Row {
    return window_row(place, place.above + (u32(clamp(y, 0, i32(place.rows) - 1)) << place.side_log2));
}

fn mean_row(place: Place, y: i32) -> Row {
    return window_row(place, place.means + (u32(clamp(y, 0, i32(place.last_mean))) << place.side_log2));
}

fn weighted(taps: Taps, a: Row, b: Row, c: Row, d: Row, e: Row) -> i32 {
    return dot(taps.t0, a.left) + dot(taps.t1, b.left) + dot(taps.t2, c.left) + dot(taps.t3, d.left)
        + dot(taps.t4, e.left) + dot(taps.t5, vec4<i32>(a.right, b.right, c.right, d.right)) + taps.t6.x * e.right;
}

fn dequantise(step: u32, symbol: i32) -> i32 {
    let scaled = bitcast<i32>((bitcast<u32>(abs(symbol)) * step - ((3u * step) >> 6u) + 8u) >> 4u);
    return select(select(scaled, -scaled, symbol < 0), symbol, symbol == 0);
}

fn residual_of(plane: Plane, step: u32, sum: i32, symbol: i32) -> i32 {
    if step != 16u {
        return dequantise(step, symbol);
    }
    let flips = plane.predictor != PREDICTOR_NONE && ((sum + 1024) & 2047) < 1024;
    return select(symbol, -symbol, flips);
}

// V, H0 or H1 from the sum over its window and its residual, and the residuals of the planes before.
fn value_of(plane: Plane, sum: i32, residual: i32, near: i32, near_factor: i32, far: i32, far_factor: i32) -> i32 {
    let s = shift_of(plane);
    let cross = (((near >> s) * near_factor + (far >> s) * far_factor + 32) >> 6u) << s;
    return (((sum + 1024) >> 11u) << s) + cross + residual;
}

// The row means of a quad, to `room`; gives V's residual.
fn rebuild_means(
    plane: Plane, taps: Taps, place: Place, y: u32, symbol: i32, near: i32, far: i32,
    a: Row, b: Row, c: Row, d: Row, e: Row,
) -> i32 {
    let at = place.means + ((2u * y) << place.side_log2) + place.left.z;
    let mean = c.left.z;
    if y >= place.v_rows {
        room[at] = mean;
        return 0;
    }
    let sum = window_sum(plane, taps, 0u, a, b, c, d, e, 0);
    let residual = residual_of(plane, plane.step_v, sum, symbol);
    let v = value_of(plane, sum, residual, near, plane.near_v, far, plane.far_v);
    let below = mean - ((v + 1) >> 1u);
    room[at] = below + v;
    room[at + (1u << place.side_log2)] = below;
    return residual;
}

// The row means of the block and the rows around it.
fn means_pass(plane: Plane, taps: Taps, place: Place, symbols: Values, near: Values, far: Values) -> Values {
    let y = i32(place.y);
    var residuals = Values();
    if place.y < place.end {
        let b = above_row(place, y - 1);
        let c = above_row(place, y);
        let d = above_row(place, y + 1);
        let e = above_row(place, y + 2);
        residuals.first.x = rebuild_means(plane, taps, place, place.y, symbols.first.x, near.first.x, far.first.x,
            above_row(place, y - 2), b, c, d, e);
        if place.y + 1u < place.end {
            residuals.second.x = rebuild_means(plane, taps, place, place.y + 1u, symbols.second.x, near.second.x,
                far.second.x, b, c, d, e, above_row(place, y + 3));
        }
    }
    if place.has_border {
        let border = i32(place.border);
        residuals.border = rebuild_means(plane, taps, place, place.border, symbols.border, near.border, far.border,
            above_row(place, border - 2), above_row(place, border - 1), above_row(place, border),
            above_row(place, border + 1), above_row(place, border + 2));
    }
    return residuals;
}

// The samples of a quad. `residuals` has V's, and gets the others.
fn rebuild_quad(
    plane: Plane, taps0: Taps, taps1: Taps, place: Place, y: u32, symbols: vec3<i32>, near: vec3<i32>, far: vec3<i32>,
    a: Row, b: Row, c: Row, d: Row, e: Row, f: Row, residuals: ptr<function, vec3<i32>>,
) -> vec4<i32> {
    var quad = vec4<i32>(c.left.z, 0, d.left.z, 0);
    if !place.has_right {
        return quad;
    }
    let sum0 = window_sum(plane, taps0, 1u, a, b, c, d, e, 0);
    (*residuals).y = residual_of(plane, plane.step_h0, sum0, symbols.y);
    let h0 = value_of(plane, sum0, (*residuals).y, near.y, plane.near_h0, far.y, plane.far_h0);
    quad.y = c.left.z - (h0 >> 1u);
    quad.x = quad.y + h0;
    if y < place.v_rows {
        let sum1 = window_sum(plane, taps1, 2u, b, c, d, e, f, h0);
        (*residuals).z = residual_of(plane, plane.step_h1, sum1, symbols.z);
        let h1 = value_of(plane, sum1, (*residuals).z, near.z, plane.near_h1, far.z, plane.far_h1);
        quad.w = d.left.z - (h1 >> 1u);
        quad.z = quad.w + h1;
    }
    return quad;
}

// The samples of the block. `residuals` has V's, and gets the others.
fn quads_pass(
    plane: Plane, taps0: Taps, taps1: Taps, place: Place, symbols: Values, near: Values, far: Values,
    residuals: ptr<function, Values>,
) -> Quads {
    var quads = Quads();
    if place.y < place.end {
        let y = 2 * i32(place.y);
        let c = mean_row(place, y);
        let d = mean_row(place, y + 1);
        let e = mean_row(place, y + 2);
        let f = mean_row(place, y + 3);
        var own = (*residuals).first;
        quads.first = rebuild_quad(plane, taps0, taps1, place, place.y, symbols.first, near.first, far.first,
            mean_row(place, y - 2), mean_row(place, y - 1), c, d, e, f, &own);
        (*residuals).first = own;
        if place.y + 1u < place.end {
            own = (*residuals).second;
            quads.second = rebuild_quad(plane, taps0, taps1, place, place.y + 1u, symbols.second, near.second, far.second,
                c, d, e, f, mean_row(place, y + 4), mean_row(place, y + 5), &own);
            (*residuals).second = own;
        }
    }
    return quads;
}

fn symbols_at(chunk: Chunk, place: Place, exists: bool) -> Values {
    var symbols = Values();
    if exists && (chunk.kind & CHUNK_EMPTY) == 0u {
        if place.y < place.end {
            symbols.first = symbols_of_quad(chunk, place.y, place.left.z);
        }
        if place.y + 1u < place.end {
            symbols.second = symbols_of_quad(chunk, place.y + 1u, place.left.z);
        }
        if place.has_border {
            symbols.border = symbol_at(chunk, 3u * place.border, place.left.z);
        }
    }
    return symbols;
}

fn symbols_of_quad(chunk: Chunk, y: u32, x: u32) -> vec3<i32> {
    return vec3<i32>(symbol_at(chunk, 3u * y, x), symbol_at(chunk, 3u * y + 1u, x), symbol_at(chunk, 3u * y + 2u, x));
}

// A symbol of two to a word; `row` counts bands.
fn narrow_symbol(chunk: Chunk, row: u32, column: u32) -> i32 {
    let pairs = ((chunk.shape & 255u) + 1u) >> 1u;
    return extractBits(bitcast<i32>(narrow[chunk.symbols + row * pairs + (column >> 1u)]), 16u * (column & 1u), 16u);
}

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) invocation: u32,
) {
    let number = group.x + group.y * groups.x;
    if number >= range.count {
        return;
    }
    let block = blocks[range.first + number];
    let columns = block.shape & 255u;
    let rows = (block.shape >> 8u) & 255u;
    let side_log2 = block.strip >> 16u;
    let side = 1u << side_log2;
    let start = block.strip & 255u;
    let end = start + ((block.strip >> 8u) & 255u);
    // Rows of the level above that windows reach, and rows of quads whose V they need.
    let above_start = max(start, 3u) - 3u;
    let above_end = min(end + 3u, rows);
    let v_start = max(start, 1u) - 1u;
    let x = invocation & (side - 1u);
    let exists = x < columns;
    let edge = columns - 1u;

    var place: Place;
    place.left = min(vec4<u32>(max(x, 2u) - 2u, max(x, 1u) - 1u, x, x + 1u), vec4<u32>(edge));
    place.right = min(x + 2u, edge);
    place.y = start + 2u * (invocation >> side_log2);
    place.end = select(0u, end, exists);
    place.border = select(v_start, end, invocation >= side);
    place.has_border = exists && invocation < 2u * side && (place.border < start || place.border >= end)
        && place.border < rows;
    place.v_rows = block.shape >> 24u;
    place.has_right = x < ((block.shape >> 16u) & 255u);
    place.rows = rows;
    place.last_mean = rows + place.v_rows - 1u;
    // Indices wrap around until a row that is there is added.
    place.above = 0u - (above_start << side_log2);
    place.means = ((above_end - above_start) << side_log2) - (v_start << (side_log2 + 1u));
    place.side_log2 = side_log2;

    var near = Values();
    var far = Values();
    for (var p = 0u; p < block.planes; p++) {
        let plane = planes[block.params + p];
        let symbols = symbols_at(chunks[block.chunks + p], place, exists);
        let lower = block.lower + p * block.lower_plane;
        workgroupBarrier();
        for (var y = above_start + (invocation >> side_log2); y < above_end; y += 256u >> side_log2) {
            if exists {
                room[place.above + (y << side_log2) + x] = samples[lower + y * block.lower_stride + x];
            }
        }
        workgroupBarrier();
        var residuals = means(plane, place, symbols, near, far);
        workgroupBarrier();
        let done = quads(plane, place, symbols, near, far, &residuals);
        emit(block, p, done, place, exists);
        far = near;
        near = residuals;
    }
    finish(block, place, exists);
}
