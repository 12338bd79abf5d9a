// Tiles whose lanes have two columns. Part of entropy.wgsl.

// Context magnitudes of a band's row: a lane's even and odd column, and for each the sum of both its neighbours.
struct Pair { even: u32, odd: u32, beside_even: u32, beside_odd: u32 }

struct PairLane {
    is_first: bool,
    // Whether the odd column exists, and whether no lane follows.
    has_odd: bool,
    is_last: bool,
}

// A band's row: the magnitudes; the values go to `decoded`.
fn pair_row(
    w: array<array<array<u32, 9>, 2>, 2>, band: u32, turn: u32, first_row: bool, who: PairLane,
    codes_even: bool, codes_odd: bool,
    north: Pair, north2: Pair, other1: Pair, other2: Pair, v: Pair, h0: Pair,
    decoded: ptr<function, u32>,
) -> Pair {
    var here: Pair;
    let even = step(codes_even, weigh(
        w[0], first_row, north.even, north.beside_even, north2.even, other1.even + other2.even,
        0u, v.even, h0.even, v.beside_even + h0.beside_even,
    ), band, turn, true);
    here.even = seen;
    // The last column has no right neighbour yet, and so counts its left one twice.
    let right = select(right_neighbour(seen, turn), seen, who.is_last);
    let odd = step(codes_odd, weigh(
        w[1], first_row, north.odd, north.beside_odd, north2.odd, other1.odd + other2.odd,
        here.even + right, v.odd, h0.odd, v.beside_odd + h0.beside_odd,
    ), band, (turn + 1u) % 3u, true);
    here.odd = select(here.even, seen, who.has_odd);
    // Outside the tile its edge columns repeat.
    here.beside_even = select(left_neighbour(seen, (turn + 1u) % 3u), here.even, who.is_first) + here.odd;
    here.beside_odd = here.even + select(right, here.odd, who.is_last);
    *decoded = two_in_one(even, odd);
    return here;
}

fn pair_tile(w: Weights, chunk: Chunk, lane: u32, rows: u32, live: bool) {
    let columns = chunk.shape & 255u;
    let own_rows = (chunk.shape >> 8u) & 255u;
    let h_columns = (chunk.shape >> 16u) & 255u;
    let v_rows = chunk.shape >> 24u;
    let even = 2u * lane;
    let odd = even + 1u;
    let stride = (columns + 1u) >> 1u;
    let who = PairLane(lane == 0u, odd < columns, lane + 1u == stride);
    let stored = select(0u, own_rows, lane < stride);
    // Rows in which the lane codes.
    let v_even = select(0u, v_rows, live && even < columns);
    let v_odd = select(0u, v_rows, live && odd < columns);
    let h0_even = select(0u, own_rows, live && even < h_columns);
    let h0_odd = select(0u, own_rows, live && odd < h_columns);
    let h1_even = select(0u, v_rows, live && even < h_columns);
    let h1_odd = select(0u, v_rows, live && odd < h_columns);
    var v_north = Pair();
    var v_north2 = Pair();
    var h0_north = Pair();
    var h0_north2 = Pair();
    var h1_north = Pair();
    var h1_north2 = Pair();
    var at = chunk.symbols + lane;
    for (var row = 0u; row < rows; row++) {
        let first_row = row == 0u;
        next = min(next, stop);
        var decoded = 0u;
        let v = pair_row(w[0], 0u, 0u, first_row, who, row < v_even, row < v_odd,
            v_north, v_north2, h0_north, h1_north, Pair(), Pair(), &decoded);
        if row < stored {
            narrow[at] = decoded;
        }
        let h0 = pair_row(w[1], 1u, 2u, first_row, who, row < h0_even, row < h0_odd,
            h0_north, h0_north2, h1_north, v_north, v, Pair(), &decoded);
        if row < stored {
            narrow[at + stride] = decoded;
        }
        let h1 = pair_row(w[2], 2u, 1u, first_row, who, row < h1_even, row < h1_odd,
            h1_north, h1_north2, v_north, h0_north, v, h0, &decoded);
        if row < stored {
            narrow[at + 2u * stride] = decoded;
        }
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
    at = chunk.symbols + lane;
    var signs = state;
    for (var i = 0u; i < 3u * stored && nonzero > 0u; i++) {
        let word = bitcast<i32>(narrow[at]);
        var values = vec2<i32>(extractBits(word, 0u, 16u), word >> 16u);
        for (var k = 0u; k < 2u; k++) {
            if values[k] != 0 && nonzero > 0u {
                values[k] = select(values[k], -values[k], (signs & 1u) == 1u);
                signs >>= 1u;
                nonzero--;
            }
        }
        narrow[at] = two_in_one(values.x, values.y);
        at += stride;
    }
}
