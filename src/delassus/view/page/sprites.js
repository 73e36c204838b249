// Very many balls and needles: viser keeps them as clouds of points, and here each is drawn as one or two triangles that face
// the camera, a ball round to the pixel and lit: cheaper than any mesh of a sphere, and rounder. All corners are written out:
// where there is no GPU, instances cost 20 µs each, and there balls that are hidden are left out.
// /balls/NAME: centres; /needles/NAME: all feet, then all tips; /sizes/balls/NAME …: radii in x, one or one each [m].
(() => {
  if (window.delassusSprites) return;
  const own = window.delassusSprites = { isSlow: null };  // for want of a GPU; null: nobody has looked yet
  // A ball is drawn as the disc within the circle in which it is seen to end. That disc is inside the ball, so that bodies that
  // do not overlap hide each other as they should without a depth for every pixel.
  const BALL = {
    vertexShader: `
      #include <common>
      #include <tonemapping_pars_fragment>
      #include <colorspace_pars_fragment>
      attribute vec3 tint; attribute float size;
      uniform float same;
      varying vec2 at; flat varying vec3 above, below, dark, dim, bright;
      vec3 seen(float light) {
        return sRGBTransferOETF(vec4(ACESFilmicToneMapping(RECIPROCAL_PI * light * tint), 1.0)).rgb;
      }
      void main() {
        vec3 c = (modelViewMatrix * vec4(position, 1.0)).xyz;
        float r = (same > 0.0 ? same : size) * length(modelViewMatrix[0].xyz), d = length(c);
        float share = min(r / d, 1.0), across = sqrt(1.0 - share * share);
        vec3 w = -c / d, u = normalize(cross(vec3(0.0, 1.0, 0.0), w)), v = cross(w, u);
        int corner = gl_VertexID & 3;
        at = vec2(corner == 1 || corner == 2 ? 1.0 : -1.0, corner > 1 ? 1.0 : -1.0);
        // Colours on the screen by a parabola through those of three lights, not worked out at every pixel
        vec3 low = seen(1.1), middle = seen(2.6), high = seen(4.1);
        dark = low;
        dim = 4.0 * middle - 3.0 * low - high;
        bright = 2.0 * (low + high) - 4.0 * middle;
        mat3 own = mat3(u, v, w);
        above = (viewMatrix * vec4(-0.19245, 0.96225, -0.19245, 0.0)).xyz * own;  // viser's two lights; y is up there
        below = 0.4 / 3.0 * (viewMatrix * vec4(0.0, -1.0, 0.0, 0.0)).xyz * own;
        gl_Position = projectionMatrix * vec4(c + r * (share * w + across * (at.x * u + at.y * v)), 1.0);
      }`,
    fragmentShader: `
      varying vec2 at; flat varying vec3 above, below, dark, dim, bright;
      void main() {
        float square = dot(at, at);
        if (square > 1.0) discard;
        vec3 normal = vec3(at, sqrt(1.0 - square));
        float light = max(dot(normal, above), 0.0) + max(dot(normal, below), 0.0);
        gl_FragColor = vec4(dark + light * (dim + light * bright), 1.0);
      }`,
    corners: 4,
    faces: [0, 1, 2, 0, 2, 3],
  };
  const NEEDLE = {
    vertexShader: `
      attribute vec3 tip; attribute vec3 tint;
      uniform float same;
      varying vec3 colour;
      void main() {
        vec3 a = (modelViewMatrix * vec4(position, 1.0)).xyz, b = (modelViewMatrix * vec4(tip, 1.0)).xyz;
        vec3 aside = cross(b - a, a);
        float width = same * length(modelViewMatrix[0].xyz) / max(length(aside), 1e-20);
        int corner = gl_VertexID % 3;
        colour = tint;
        gl_Position = projectionMatrix * vec4(corner == 2 ? b : a + (corner == 0 ? -width : width) * aside, 1.0);
      }`,
    fragmentShader: `
      #include <common>
      varying vec3 colour;
      void main() {
        gl_FragColor = vec4(colour, 1.0);
        #include <tonemapping_fragment>
        #include <colorspace_fragment>
      }`,
    corners: 3,
    faces: [0, 1, 2],
  };

  const hasNone = (renderer) => {  // no GPU
    const gl = renderer.getContext(), about = gl.getExtension("WEBGL_debug_renderer_info");
    return !!about && /swiftshader|llvmpipe|software/i.test(gl.getParameter(about.UNMASKED_RENDERER_WEBGL));
  };
  const BUCKETS = 4096;  // of distances by which balls are sorted
  let covered = new Uint8Array(0), places = new Float32Array(0);
  function leaveOut(heaps, camera, picture) {  // balls that nearer ones hide, of whichever cloud, from the triangles of each
    const P = camera.projectionMatrix.elements, wide = picture.width, high = picture.height;
    const n = heaps.reduce((sum, heap) => sum + heap.n, 0);
    const step = new Uint32Array(BUCKETS + 1), order = new Uint32Array(n), isShown = new Uint8Array(n);
    if (places.length < 4 * n) places = new Float32Array(4 * n);
    let near = Infinity, far = 0, first = 0;
    for (const { points, n: some, radii, cloud } of heaps) {
      const V = camera.matrixWorldInverse.clone().multiply(cloud.matrixWorld).elements, isSame = radii.length === 3;
      for (let i = 0, j = 4 * first; i < 3 * some; i += 3, j += 4) {
        const x = points[i], y = points[i + 1], z = points[i + 2], r = isSame ? radii[0] : radii[i];
        const u = V[0] * x + V[4] * y + V[8] * z + V[12], v = V[1] * x + V[5] * y + V[9] * z + V[13];
        const w = -(V[2] * x + V[6] * y + V[10] * z + V[14]), away = Math.sqrt(u * u + v * v + w * w);
        places[j] = 0.5 * wide * (1 + P[0] * u / w);  // in pixels
        places[j + 1] = 0.5 * high * (1 + P[5] * v / w);
        places[j + 2] = w > r ? 0.5 * high * P[5] * r / w : 0;
        places[j + 3] = away;
        if (away < near) near = away;
        if (away > far) far = away;
      }
      first += some;
    }
    const share = (BUCKETS - 1) / (far - near || 1);
    for (let k = 0, j = 3; k < n; k++, j += 4) step[1 + (places[j] = (share * (places[j] - near)) | 0)]++;
    for (let b = 0; b < BUCKETS; b++) step[b + 1] += step[b];
    for (let k = 0, j = 3; k < n; k++, j += 4) order[step[places[j]]++] = k;
    if (covered.length !== wide * high) covered = new Uint8Array(wide * high);
    covered.fill(0);
    for (let number = 0; number < n; number++) {
      const k = order[number], x = places[4 * k], y = places[4 * k + 1], r = places[4 * k + 2];
      const out = 1.3 * r + 1;  // perspective widens them
      let isSeen = r === 0;  // around the camera, or behind it
      const last = Math.min(high - 1, Math.floor(y + out));
      for (let row = Math.max(0, Math.ceil(y - out)); !isSeen && row <= last; row++) {
        const half = Math.sqrt(Math.max(out * out - (row - y) * (row - y), 0)), end = row * wide + Math.min(wide - 1, Math.floor(x + half));
        for (let i = row * wide + Math.max(0, Math.ceil(x - half)); i <= end; i++) if (covered[i] === 0) { isSeen = true; break; }
      }
      if (!isSeen) continue;
      isShown[k] = 1;
      const inner = Math.max(r - 0.5, 0), lowest = Math.min(high - 1, Math.floor(y + inner));
      for (let row = Math.max(0, Math.ceil(y - inner)); row <= lowest; row++) {
        const half = Math.sqrt(Math.max(inner * inner - (row - y) * (row - y), 0)), end = row * wide + Math.min(wide - 1, Math.floor(x + half));
        for (let i = row * wide + Math.max(0, Math.ceil(x - half)); i <= end; i++) covered[i] = 1;
      }
    }
    first = 0;
    for (const { n: some, geometry } of heaps) {
      const index = geometry.index.array;
      let i = 0;
      for (let k = 0; k < some; k++) if (isShown[first + k]) for (const corner of BALL.faces) index[i++] = BALL.corners * k + corner;
      geometry.index.needsUpdate = true;
      geometry.setDrawRange(0, i);
      first += some;
    }
  }

  const drawn = new Map();  // name → { mesh, cloud, seen }
  const cloudOf = (node) => {
    let found = null;
    node.traverse((object) => { if (object.isPoints && object.geometry.attributes.position) found ??= object; });
    return found;
  };
  function made(kind, cloud, capacity, background) {
    const { corners, faces, vertexShader, fragmentShader } = kind, cloudy = cloud.geometry;
    const Material = background.material.constructor, Attribute = cloudy.attributes.position.constructor;
    const geometry = new cloudy.constructor();
    const index = new Uint32Array(faces.length * capacity);
    for (let k = 0, i = 0; k < capacity; k++) for (const corner of faces) index[i++] = corners * k + corner;
    geometry.setIndex(new Attribute(index, 1));
    geometry.setAttribute("position", new Attribute(new Float32Array(3 * corners * capacity), 3));
    if (kind === NEEDLE) geometry.setAttribute("tip", new Attribute(new Float32Array(3 * corners * capacity), 3));
    else geometry.setAttribute("size", new Attribute(new Float32Array(corners * capacity), 1));
    geometry.setAttribute("tint", new Attribute(new Uint8Array(3 * corners * capacity), 3, true));
    const material = new Material({ vertexShader, fragmentShader, uniforms: { same: { value: 0 } } });
    const mesh = new background.constructor(geometry, material);
    mesh.frustumCulled = false;
    mesh.raycast = () => {};
    return { mesh, cloud, capacity, seen: {} };
  }
  function follow(name, node, viser, background) {  // what a cloud holds by now; returns balls that may be seen
    const cloud = cloudOf(node), kind = name.startsWith("/balls/") ? BALL : NEEDLE;
    const sizes = viser.nodeRefFromName["/sizes" + name], sized = sizes && cloudOf(sizes);
    if (!cloud || !sized) return null;
    const { position, color } = cloud.geometry.attributes, radii = sized.geometry.attributes.position;
    const n = kind === NEEDLE ? position.count / 2 : position.count;
    let one = drawn.get(name);
    if (!one || one.cloud !== cloud || one.capacity < n) {  // what grows once may grow again
      if (one) { one.mesh.removeFromParent(); one.mesh.geometry.dispose(); one.mesh.material.dispose(); }
      drawn.set(name, one = made(kind, cloud, one && one.cloud === cloud ? 2 * n : n, background));
      cloud.parent.add(one.mesh);
    }
    cloud.visible = sized.visible = false;
    const { geometry, material } = one.mesh;
    const put = (to, values, first = 0) => {  // n of them, at all corners
      const attribute = geometry.attributes[to], { array, itemSize } = attribute;
      for (let k = 0, j = 0; k < n; k++) {
        for (let corner = 0; corner < kind.corners; corner++) for (let i = 0; i < itemSize; i++) array[j++] = values[first + itemSize * k + i];
      }
      attribute.needsUpdate = true;
    };
    const isNew = (key, attribute) => {
      const [array, version] = one.seen[key] ?? [];
      one.seen[key] = [attribute.array, attribute.version];
      return array !== attribute.array || version !== attribute.version;
    };
    if (isNew("position", position)) {
      put("position", position.array);
      if (kind === NEEDLE) put("tip", position.array, 3 * n);
    }
    if (!color) put("tint", cloud.material.uniforms.uniformColor.value.toArray().map((x) => 255 * x));  // of a single one
    else if (isNew("color", color)) put("tint", color.array);
    if (isNew("sizes", radii)) {
      material.uniforms.same.value = radii.count === 1 ? radii.array[0] : 0;
      if (radii.count > 1) put("size", radii.array.filter((_, k) => k % 3 === 0));
    }
    geometry.setDrawRange(0, kind.faces.length * n);
    let above = cloud.parent;
    while (above && above.visible) above = above.parent;
    return kind === BALL && !above ? { points: position.array, n, radii: radii.array, cloud, geometry } : null;
  }

  (function begin() {
    const viser = window.__viserMutable;
    let background = null;
    if (viser && viser.scene && viser.backgroundMaterial) {
      viser.scene.traverse((object) => { if (object.material === viser.backgroundMaterial) background = object; });
    }
    if (!background) { requestAnimationFrame(begin); return; }
    const before = viser.scene.onBeforeRender;
    viser.scene.onBeforeRender = function (...given) {
      background.visible = background.material.uniforms.enabled.value;  // else every pixel asks whether there is a picture
      const heaps = [];
      for (const [name, node] of Object.entries(viser.nodeRefFromName)) {
        const heap = node && /^\/(balls|needles)\/./.test(name) ? follow(name, node, viser, background) : null;
        if (heap) heaps.push(heap);
      }
      if (own.isSlow ??= hasNone(given[0])) leaveOut(heaps, viser.camera, given[0].domElement);
      before.apply(this, given);
    };
    viser.requestRender();
  })();
})();
