// Where samples go that later levels or the colour stage need: to `samples`, a word each. Part of upsample.wgsl.

// (A sample behind the tile's last column fills its row's last pair.)
fn put_line(block: Block, at: u32, place: Place, y: u32, line: vec4<i32>) {
    if y >= (block.clip_y >> 16u) {
        return;
    }
    let x = 4u * place.pair;
    let to = (at + y * block.out_stride + x) >> 1u;
    samples[to] = line.xy;
    if x + 2u < (block.clip_x >> 16u) {
        samples[to + 1u] = line.zw;
    }
}

fn emit(block: Block, plane: u32, lines: Lines, place: Place) {
    let at = block.out + plane * block.out_plane;
    if place.y < place.end {
        put_line(block, at, place, 2u * place.y, lines.a);
        put_line(block, at, place, 2u * place.y + 1u, lines.b);
    }
    if place.y + 1u < place.end {
        put_line(block, at, place, 2u * place.y + 2u, lines.c);
        put_line(block, at, place, 2u * place.y + 3u, lines.d);
    }
}

fn finish(block: Block, place: Place, row: u32, invocation: u32) {}
