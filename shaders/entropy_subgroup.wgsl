// How lanes of a chunk learn of each other in a subgroup of 32, without barriers. Part of entropy.wgsl.

var<private> chunk_mask: u32;
var<private> before_mask: u32;

fn start_exchange(invocation: u32, lane: u32, lanes_log2: u32) {
    let first = (invocation & 31u) - lane;
    chunk_mask = extractBits(0xffffffffu, 0u, 1u << lanes_log2) << first;
    before_mask = ((1u << lane) - 1u) << first;
}

// Gives how many words the lanes before this one take, and moves `next` on.
fn exchange(first: bool, second: bool, turn: u32, whole: bool) -> u32 {
    let firsts = subgroupBallot(first).x;
    let seconds = subgroupBallot(second).x;
    let ours = select(chunk_mask, 0xffffffffu, whole);
    next += countOneBits(firsts & ours) + countOneBits(seconds & ours);
    return countOneBits(firsts & before_mask) + countOneBits(seconds & before_mask);
}

// What the neighbours have (anything at the ends).
fn right_neighbour(own: u32, turn: u32) -> u32 {
    return subgroupShuffleDown(own, 1u);
}

fn left_neighbour(own: u32, turn: u32) -> u32 {
    return subgroupShuffleUp(own, 1u);
}
