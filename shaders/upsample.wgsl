// Residual and upsample stage: symbols and the level above → samples. CPU twins: `residual/mod.rs`, `upsample/cpu.rs`.
//
// A workgroup rebuilds some rows of quads of a tile, one plane after the other; an invocation two quads, one below the
// other, and V of a third where its row borders on the block. Windows end at the tile's edge, so nothing is needed but
// the quads the tile covers in the level above, and V of one more row on both sides.
// Where coefficients come from is in upsample_linear.wgsl or upsample_any.wgsl; what becomes of the samples in
// upsample_samples.wgsl or upsample_pixels.wgsl.
// Dispatch: x + y * num_workgroups.x = index into the `range` of `blocks`.
// Invariant: tiles have at most 64 columns, and blocks at most 512 quads of a tile's side, 32 or 64: `room` holds the
// windows of 16 rows.

@group(0) @binding(0) var<storage, read> narrow: array<u32>;
@group(0) @binding(1) var<storage, read> wide: array<i32>;
@group(0) @binding(2) var<storage, read> chunks: array<Chunk>;
@group(0) @binding(3) var<storage, read> blocks: array<Block>;
@group(0) @binding(4) var<storage, read> planes: array<Plane>;
@group(0) @binding(5) var<storage, read> coefficients: array<vec4<i32>>;
@group(0) @binding(6) var<storage, read_write> samples: array<i32>;
@group(0) @binding(8) var<uniform> range: Range;

// Words of a row in `room`: 64 columns, and two more on both sides, which repeat the tile's edge columns.
const STRIDE: u32 = 68u;
// Rows of the level above that windows of so many rows of quads reach: three more on both sides.
const ABOVE_ROWS: u32 = 22u;
// Row means: those of the rows of quads, and of one more on both sides.
const MEAN_ROWS: u32 = 36u;
const MEANS: u32 = ABOVE_ROWS * STRIDE;

// Rows of the level above, from three above the block on; then row means, from two above it on. Beyond the tile its
// first or last row repeats.
var<workgroup> room: array<i32, (ABOVE_ROWS + MEAN_ROWS) * STRIDE>;

struct Row { left: vec4<i32>, right: i32 }
struct Taps { t0: vec4<i32>, t1: vec4<i32>, t2: vec4<i32>, t3: vec4<i32>, t4: vec4<i32>, t5: vec4<i32>, t6: vec4<i32> }

// Where an invocation stands, and what it rebuilds of a plane.
struct Place {
    x: u32,
    // First row of quads, and the first behind the block.
    y: u32,
    end: u32,
    // How far below `y` the bordering row is.
    border: u32,
    has_border: bool,
    // Quads from here on have no lower half, or no right one.
    v_rows: u32,
    has_right: bool,
    rows: u32,
    is_left_edge: bool,
    is_right_edge: bool,
    // Index in `room` of the invocation's sample of the level above, and of its upper row mean.
    above: u32,
    mean: u32,
}

// Symbols or residuals of the two quads, and V of the bordering one.
struct Values { first: vec3<i32>, second: vec3<i32>, border: i32 }

// (`Before` holds symbols, or residuals of a plane before as the planes that follow see them.)

// `a b / c d` of the two quads.
struct Quads { first: vec4<i32>, second: vec4<i32> }

// The row of a window around a column.
fn window_row(at: u32) -> Row {
    return Row(vec4<i32>(room[at - 2u], room[at - 1u], room[at], room[at + 1u]), room[at + 2u]);
}

// Stores a value, and beyond the tile's left and right edge once more.
fn store(place: Place, at: u32, value: i32) {
    room[at] = value;
    if place.is_left_edge {
        room[at - 1u] = value;
        room[at - 2u] = value;
    }
    if place.is_right_edge {
        room[at + 1u] = value;
        room[at + 2u] = value;
    }
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
fn value_of(plane: Plane, band: u32, sum: i32, residual: i32, near: i32, far: i32) -> i32 {
    let s = shift_of(plane);
    let alone = (((sum + 1024) >> 11u) << s) + residual;
    if !CROSSED {
        return alone;
    }
    let sum_of_both = (seen_by(plane, near) >> s) * extractBits(bitcast<i32>(plane.near), 8u * band, 8u)
        + (seen_by(plane, far) >> s) * extractBits(bitcast<i32>(plane.far), 8u * band, 8u);
    let cross = ((sum_of_both + 32) >> 6u) << s;
    return alone + cross;
}

// The row means of quad row `y`, to `room` at `at`; gives V's residual.
fn rebuild_means(
    plane: Plane, taps: Taps, place: Place, y: u32, at: u32, symbol: i32, near: i32, far: i32,
    a: Row, b: Row, c: Row, d: Row, e: Row,
) -> i32 {
    let mean = c.left.z;
    var upper = mean;
    var below = mean;
    var residual = 0;
    if y < place.v_rows {
        let sum = window_sum(plane, taps, 0u, a, b, c, d, e, 0);
        residual = residual_of(plane, plane.step_v, sum, symbol);
        let v = value_of(plane, 0u, sum, residual, near, far);
        below = mean - ((v + 1) >> 1u);
        upper = below + v;
    }
    // A quad without a lower half has one mean, which repeats below as that of any last row does.
    store(place, at, upper);
    store(place, at + STRIDE, below);
    if y == 0u {
        store(place, at - STRIDE, upper);
        store(place, at - 2u * STRIDE, upper);
    }
    // (Behind a bordering row nobody looks.)
    if y + 1u == place.rows && y < place.end {
        store(place, at + 2u * STRIDE, below);
        store(place, at + 3u * STRIDE, below);
    }
    return residual;
}

// The row means of the block and the rows around it.
fn means_pass(plane: Plane, taps: Taps, place: Place, symbols: Before, near: Before, far: Before) -> Values {
    var residuals = Values();
    if place.y < place.end {
        let at = place.above;
        let b = window_row(at - STRIDE);
        let c = window_row(at);
        let d = window_row(at + STRIDE);
        let e = window_row(at + 2u * STRIDE);
        residuals.first.x = rebuild_means(plane, taps, place, place.y, place.mean, first_of(symbols).x,
            first_of(near).x, first_of(far).x, window_row(at - 2u * STRIDE), b, c, d, e);
        if place.y + 1u < place.end {
            residuals.second.x = rebuild_means(plane, taps, place, place.y + 1u, place.mean + 2u * STRIDE,
                second_of(symbols).x, second_of(near).x, second_of(far).x, b, c, d, e, window_row(at + 3u * STRIDE));
        }
    }
    if place.has_border {
        let at = place.above + place.border * STRIDE;
        residuals.border = rebuild_means(plane, taps, place, place.y + place.border, place.mean + 2u * place.border * STRIDE, border_of(symbols),
            border_of(near), border_of(far), window_row(at - 2u * STRIDE), window_row(at - STRIDE), window_row(at),
            window_row(at + STRIDE), window_row(at + 2u * STRIDE));
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
    let h0 = value_of(plane, 1u, sum0, (*residuals).y, near.y, far.y);
    quad.y = c.left.z - (h0 >> 1u);
    quad.x = quad.y + h0;
    if y < place.v_rows {
        let sum1 = window_sum(plane, taps1, 2u, b, c, d, e, f, h0);
        (*residuals).z = residual_of(plane, plane.step_h1, sum1, symbols.z);
        let h1 = value_of(plane, 2u, sum1, (*residuals).z, near.z, far.z);
        quad.w = d.left.z - (h1 >> 1u);
        quad.z = quad.w + h1;
    }
    return quad;
}

// The samples of the block. `residuals` has V's, and gets the others.
fn quads_pass(
    plane: Plane, taps0: Taps, taps1: Taps, place: Place, symbols: Before, near: Before, far: Before,
    residuals: ptr<function, Values>,
) -> Quads {
    var quads = Quads();
    if place.y < place.end {
        let at = place.mean;
        let c = window_row(at);
        let d = window_row(at + STRIDE);
        let e = window_row(at + 2u * STRIDE);
        let f = window_row(at + 3u * STRIDE);
        var own = (*residuals).first;
        quads.first = rebuild_quad(plane, taps0, taps1, place, place.y, first_of(symbols), first_of(near), first_of(far),
            window_row(at - 2u * STRIDE), window_row(at - STRIDE), c, d, e, f, &own);
        (*residuals).first = own;
        if place.y + 1u < place.end {
            own = (*residuals).second;
            quads.second = rebuild_quad(plane, taps0, taps1, place, place.y + 1u, second_of(symbols), second_of(near), second_of(far),
                c, d, e, f, window_row(at + 4u * STRIDE), window_row(at + 5u * STRIDE), &own);
            (*residuals).second = own;
        }
    }
    return quads;
}

fn symbols_at(chunk: Chunk, place: Place, exists: bool) -> Before {
    var symbols = Values();
    if exists && (chunk.kind & CHUNK_EMPTY) == 0u {
        if place.y < place.end {
            symbols.first = symbols_of_quad(chunk, place.y, place.x);
        }
        if place.y + 1u < place.end {
            symbols.second = symbols_of_quad(chunk, place.y + 1u, place.x);
        }
        if place.has_border {
            symbols.border = symbol_at(chunk, 3u * (place.y + place.border), place.x);
        }
    }
    return kept_of(symbols);
}

fn symbols_of_quad(chunk: Chunk, y: u32, x: u32) -> vec3<i32> {
    return vec3<i32>(symbol_at(chunk, 3u * y, x), symbol_at(chunk, 3u * y + 1u, x), symbol_at(chunk, 3u * y + 2u, x));
}

// A symbol of two to a word; `row` counts bands.
fn narrow_symbol(chunk: Chunk, row: u32, column: u32) -> i32 {
    let pairs = ((chunk.shape & 255u) + 1u) >> 1u;
    return extractBits(bitcast<i32>(narrow[chunk.symbols + row * pairs + (column >> 1u)]), 16u * (column & 1u), 16u);
}

// The samples of the level above that an invocation brings to `room`: of up to four rows.
fn above_at(block: Block, plane: u32, place: Place, row: u32, start: u32) -> vec4<i32> {
    let at = block.lower + plane * block.lower_plane + min(place.x, (block.shape & 255u) - 1u);
    let step = 256u >> (block.strip >> 16u);
    let last = i32(place.rows) - 1;
    let first = i32(start + row) - 3;
    let y = vec4<u32>(clamp(vec4<i32>(first) + vec4<i32>(0, 1, 2, 3) * i32(step), vec4<i32>(0), vec4<i32>(last)));
    return vec4<i32>(
        samples[at + y.x * block.lower_stride], samples[at + y.y * block.lower_stride],
        samples[at + y.z * block.lower_stride], samples[at + y.w * block.lower_stride],
    );
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
    let x = invocation & (side - 1u);
    let row = invocation >> side_log2;
    let exists = x < columns;

    var place: Place;
    place.x = x;
    place.y = start + 2u * row;
    place.end = select(0u, end, exists);
    // The row above the block, which wraps around where there is none, or the one below.
    place.border = select(0u - 1u, end - place.y, row == 1u);
    place.has_border = exists && row < 2u && place.y + place.border < rows;
    place.v_rows = block.shape >> 24u;
    place.has_right = x < ((block.shape >> 16u) & 255u);
    place.rows = rows;
    place.is_left_edge = x == 0u;
    place.is_right_edge = x + 1u == columns;
    place.above = (2u * row + 3u) * STRIDE + x + 2u;
    place.mean = MEANS + (4u * row + 2u) * STRIDE + x + 2u;
    let above_rows = end - start + 6u;

    var near = Before();
    var far = Before();
    // What a plane takes is fetched while the one before is being rebuilt.
    var ahead = above_at(block, 0u, place, row, start);
    var symbols_ahead = symbols_at(chunks[block.chunks], place, exists);
    for (var p = 0u; p < block.planes; p++) {
        let plane = planes[block.params + p];
        let symbols = symbols_ahead;
        workgroupBarrier();
        let step = 256u >> side_log2;
        if exists {
            for (var i = 0u; i < 4u; i++) {
                if row + i * step < above_rows {
                    store(place, (row + i * step) * STRIDE + x + 2u, ahead[i]);
                }
            }
        }
        workgroupBarrier();
        if p + 1u < block.planes {
            ahead = above_at(block, p + 1u, place, row, start);
            symbols_ahead = symbols_at(chunks[block.chunks + p + 1u], place, exists);
        }
        var residuals = means(plane, place, symbols, near, far);
        workgroupBarrier();
        let done = quads(plane, place, symbols, near, far, &residuals);
        emit(block, p, done, place, exists);
        far = near;
        near = kept_of(residuals);
    }
    finish(block, place, exists);
}
