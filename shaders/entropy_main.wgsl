// The entry point of entropy.wgsl.

// A state that no symbol changes, of lanes that do not live.
const DEAD_STATE: u32 = 0x10000u;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) invocation: u32,
) {
    let place = group.x + group.y * groups.x;
    if place >= range.count {
        return;
    }
    let start = (range.first + place) * GROUP_WORDS;
    let head = work[start];
    let in_quads = (head & GROUP_QUADS) != 0u;
    let rows = head >> 8u;
    // Lanes of a chunk: 32 or 8.
    let lanes_log2 = select(5u, 3u, in_quads);
    let member = invocation >> lanes_log2;
    let lane = invocation & ((1u << lanes_log2) - 1u);
    let index = work[start + 1u + member];
    var chunk: Chunk;
    var begin: LaneStart;
    if index != NOTHING {
        chunk = chunks[index];
        let per_lane = chunk.kind & COLUMNS_PER_LANE;
        begin = lane_start(chunk, lane, ((chunk.shape & 255u) + per_lane - 1u) / per_lane);
    }
    let live = begin.state != 0u;
    state = select(DEAD_STATE, begin.state, live);
    next = chunk.first_word + begin.used;
    stop = chunk.first_word + chunk.words + 1u;
    model = chunk.model;
    start_exchange(invocation, lane, lanes_log2);
    workgroupBarrier();
    if (head & GROUP_SET) == 0u {
        if in_quads {
            quad_tile(WEIGHTS_0, chunk, lane, rows, live);
        } else {
            pair_tile(WEIGHTS_0, chunk, lane, rows, live);
        }
    } else {
        if in_quads {
            quad_tile(WEIGHTS_1, chunk, lane, rows, live);
        } else {
            pair_tile(WEIGHTS_1, chunk, lane, rows, live);
        }
    }
    let broken = !begin.alive || next != chunk.first_word + chunk.words || largest > NARROW_LIMIT
        || (state >> 16u) != 1u;
    if index != NOTHING && broken {
        atomicMin(&faults[chunk.image], chunk.ordinal);
    }
}
