// The compressed bytes, and the lane states at the start of a chunk (SPEC 10.3). CPU twin: `entropy/lanes.rs`.

// Words that a chunk ends before are read as its last one: what comes out then is thrown away.
fn payload_word(at: u32, last: u32) -> u32 {
    return word_at(min(at, last));
}

// `count` bits (at most 32) of a chunk, from bit `at` on.
fn payload_bits(chunk: Chunk, at: u32, count: u32) -> u32 {
    let last = chunk.first_word + chunk.words - 1u;
    let first = chunk.first_word + (at >> 4u);
    let within = at & 15u;
    let low = payload_word(first, last) | (payload_word(first + 1u, last) << 16u);
    // A shift by 32 would be one by 0.
    let high = (payload_word(first + 2u, last) << 16u) << (16u - within);
    return extractBits((low >> within) | select(0u, high, within > 0u), 0u, count);
}

struct LaneStart {
    // 0 for a dead lane.
    state: u32,
    // Words that the states take.
    used: u32,
    // Whether any lane lives.
    alive: bool,
}

// The sum of the first `count` nibbles from bit `at` on.
fn sum_of_nibbles(chunk: Chunk, at: u32, count: u32) -> u32 {
    var sum = 0u;
    for (var done = 0u; done < count; done += 8u) {
        let nibbles = payload_bits(chunk, at + 4u * done, 4u * min(count - done, 8u));
        let bytes = (nibbles & 0x0f0f0f0fu) + ((nibbles >> 4u) & 0x0f0f0f0fu);
        sum += (bytes * 0x01010101u) >> 24u;
    }
    return sum;
}

fn lane_start(chunk: Chunk, lane: u32, lanes: u32) -> LaneStart {
    var live = vec2<u32>(0xffffffffu);
    var at = 1u;
    if payload_bits(chunk, 0u, 1u) == 1u {
        live = vec2<u32>(payload_bits(chunk, 1u, min(lanes, 32u)), payload_bits(chunk, 33u, max(lanes, 32u) - 32u));
        at += lanes;
    } else {
        live = vec2<u32>(extractBits(live.x, 0u, min(lanes, 32u)), extractBits(live.y, 0u, max(lanes, 32u) - 32u));
    }
    let all = countOneBits(live.x) + countOneBits(live.y);
    let before_x = select(live.x, extractBits(live.x, 0u, lane), lane < 32u);
    let before_y = select(0u, extractBits(live.y, 0u, lane - 32u), lane > 32u);
    let rank = countOneBits(before_x) + countOneBits(before_y);
    let own = select(live.x >> lane, live.y >> (lane - 32u), lane >= 32u) & 1u;
    let mantissas = at + 4u * all;
    var start: LaneStart;
    start.alive = all > 0u;
    start.used = (mantissas + 16u * all + sum_of_nibbles(chunk, at, all) + 15u) >> 4u;
    if lane < lanes && own == 1u {
        let length = 16u + payload_bits(chunk, at + 4u * rank, 4u);
        let from_bit = mantissas + 16u * rank + sum_of_nibbles(chunk, at, rank);
        start.state = payload_bits(chunk, from_bit, length) | (1u << length);
    }
    return start;
}
