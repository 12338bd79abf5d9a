// Where samples go that later levels or the colour stage need: to `samples`, a word each. Part of upsample.wgsl.

fn put(block: Block, at: u32, x: u32, y: u32, value: i32) {
    let wanted = x >= (block.clip_x & 0xffffu) && x < (block.clip_x >> 16u)
        && y >= (block.clip_y & 0xffffu) && y < (block.clip_y >> 16u);
    if wanted {
        samples[at + y * block.out_stride + x] = value;
    }
}

fn put_quad(block: Block, at: u32, place: Place, y: u32, quad: vec4<i32>) {
    let x = 2u * place.x;
    put(block, at, x, 2u * y, quad.x);
    if place.has_right {
        put(block, at, x + 1u, 2u * y, quad.y);
    }
    if y < place.v_rows {
        put(block, at, x, 2u * y + 1u, quad.z);
        if place.has_right {
            put(block, at, x + 1u, 2u * y + 1u, quad.w);
        }
    }
}

fn emit(block: Block, plane: u32, quads: Quads, place: Place, exists: bool) {
    let at = block.out + plane * block.out_plane;
    if place.y < place.end {
        put_quad(block, at, place, place.y, quads.first);
    }
    if place.y + 1u < place.end {
        put_quad(block, at, place, place.y + 1u, quads.second);
    }
}

fn finish(block: Block, place: Place, exists: bool) {}
