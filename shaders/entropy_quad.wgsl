// Tiles whose lanes have four columns. Part of entropy.wgsl.

// Context magnitudes of a band's row: a lane's columns a, b, c, d, and their neighbours.
struct Quad { left: u32, a: u32, b: u32, c: u32, d: u32, right: u32 }

struct QuadLane {
    lane: u32,
    // Columns that exist, and whether no lane follows.
    count: u32,
    is_last: bool,
}

// A band's row in the order a, c, b, d: the magnitudes; the values go to `decoded`.
fn quad_row(
    w: array<array<array<u32, 9>, 2>, 2>, band: u32, turn: u32, first_row: bool, who: QuadLane, coding: u32,
    north: Quad, north2: Quad, other1: Quad, other2: Quad, v: Quad, h0: Quad,
    decoded: ptr<function, vec2<u32>>,
) -> Quad {
    var here: Quad;
    let a = step(coding > 0u, weigh(
        w[0], first_row, north.a, north.left + north.b, north2.a, other1.a + other2.a,
        0u, v.a, h0.a, v.left + v.b + h0.left + h0.b,
    ), band, turn, false);
    here.a = seen;
    here.right = right_neighbour(seen, turn);
    let c = step(coding > 2u, weigh(
        w[0], first_row, north.c, north.b + north.d, north2.c, other1.c + other2.c,
        0u, v.c, h0.c, v.b + v.d + h0.b + h0.d,
    ), band, (turn + 1u) % 3u, false);
    // The last column has no right neighbour yet, and so counts its left one twice.
    here.c = select(here.a, seen, who.count > 2u);
    here.right = select(here.right, here.c, who.is_last);
    let b = step(coding > 1u, weigh(
        w[1], first_row, north.b, north.a + north.c, north2.b, other1.b + other2.b,
        here.a + here.c, v.b, h0.b, v.a + v.c + h0.a + h0.c,
    ), band, (turn + 2u) % 3u, false);
    // Outside the tile its edge columns repeat.
    here.b = select(here.a, seen, who.count > 1u);
    let d = step(coding > 3u, weigh(
        w[1], first_row, north.d, north.c + north.right, north2.d, other1.d + other2.d,
        here.c + here.right, v.d, h0.d, v.c + v.right + h0.c + h0.right,
    ), band, turn, false);
    here.left = select(left_neighbour(seen, turn), here.a, who.lane == 0u);
    here.c = select(here.b, here.c, who.count > 2u);
    here.d = select(here.c, seen, who.count > 3u);
    here.right = select(here.right, here.d, who.is_last);
    *decoded = vec2<u32>(two_in_one(a, b), two_in_one(c, d));
    return here;
}

fn quad_tile(w: Weights, chunk: Chunk, lane: u32, rows: u32, live: bool) {
    let columns = chunk.shape & 255u;
    let own_rows = (chunk.shape >> 8u) & 255u;
    let h_columns = (chunk.shape >> 16u) & 255u;
    let v_rows = chunk.shape >> 24u;
    let first = 4u * lane;
    let stride = (columns + 1u) >> 1u;
    let count = max(columns, first) - first;
    let who = QuadLane(lane, min(count, 4u), count > 0u && count <= 4u);
    let h_count = max(h_columns, first) - first;
    var v_north = Quad();
    var v_north2 = Quad();
    var h0_north = Quad();
    var h0_north2 = Quad();
    var h1_north = Quad();
    var h1_north2 = Quad();
    var at = chunk.symbols + 2u * lane;
    for (var row = 0u; row < rows; row++) {
        let first_row = row == 0u;
        next = min(next, stop);
        let v_active = live && row < v_rows;
        let h_active = live && row < own_rows;
        var decoded = vec2<u32>();
        let v = quad_row(w[0], 0u, 0u, first_row, who, select(0u, count, v_active),
            v_north, v_north2, h0_north, h1_north, Quad(), Quad(), &decoded);
        store_quad(at, decoded, count, row < own_rows);
        let h0 = quad_row(w[1], 1u, 1u, first_row, who, select(0u, h_count, h_active),
            h0_north, h0_north2, h1_north, v_north, v, Quad(), &decoded);
        store_quad(at + stride, decoded, count, row < own_rows);
        let h1 = quad_row(w[2], 2u, 2u, first_row, who, select(0u, h_count, v_active),
            h1_north, h1_north2, v_north, h0_north, v, h0, &decoded);
        store_quad(at + 2u * stride, decoded, count, row < own_rows);
        at += 3u * stride;
        if first_row {
            v_north2 = v;
            h0_north2 = h0;
            h1_north2 = h1;
        } else {
            v_north2 = v_north;
            h0_north2 = h0_north;
            h1_north2 = h1_north;
        }
        v_north = v;
        h0_north = h0;
        h1_north = h1;
    }
    // What is left in the state are the signs of the lane's first non-zero values, the first in the lowest bit.
    at = chunk.symbols + 2u * lane;
    var signs = state;
    for (var i = 0u; count > 0u && i < 3u * own_rows && nonzero > 0u; i++) {
        let words = vec2<i32>(bitcast<i32>(narrow[at]), bitcast<i32>(narrow[at + select(0u, 1u, count > 2u)]));
        var values = vec4<i32>(extractBits(words.x, 0u, 16u), extractBits(words.y, 0u, 16u), words.x >> 16u, words.y >> 16u);
        values = select(values, vec4<i32>(values.x, 0, values.z, 0), count <= 2u);
        for (var k = 0u; k < 4u; k++) {
            if values[k] != 0 && nonzero > 0u {
                values[k] = select(values[k], -values[k], (signs & 1u) == 1u);
                signs >>= 1u;
                nonzero--;
            }
        }
        store_quad(at, vec2<u32>(two_in_one(values.x, values.z), two_in_one(values.y, values.w)), count, true);
        at += stride;
    }
}

fn store_quad(at: u32, words: vec2<u32>, count: u32, wanted: bool) {
    if wanted && count > 0u {
        narrow[at] = words.x;
    }
    if wanted && count > 2u {
        narrow[at + 1u] = words.y;
    }
}
