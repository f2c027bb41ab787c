// Fills web/dist, which the server embeds: our pages from web/src and the few files
// of web/node_modules that they load. The pages load files only from this server.
// Most files are copied. TypeScript (the rooms library and the room page) is bundled.
// Large files are also stored gzipped.
import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

import { build } from 'esbuild';

const web = dirname(fileURLToPath(import.meta.url));
const dist = join(web, 'dist');
const assets = join(dist, 'assets');

const fromModules = {
  'hls.js/dist/hls.min.mjs': 'hls.mjs',
  'hls.js/dist/hls.worker.js': 'hls.worker.js',
  'swagger-ui-dist/swagger-ui-bundle.js': 'swagger-ui.js',
  'swagger-ui-dist/swagger-ui-bundle.js.LICENSE.txt': 'swagger-ui-bundle.js.LICENSE.txt',
  'swagger-ui-dist/swagger-ui.css': 'swagger-ui.css',
};

for (const name of await readdir(dist)) {
  if (name !== '.gitkeep') await rm(join(dist, name), { recursive: true });
}
await mkdir(assets);

// Pages go to the top folder, the files that they load to assets/.
for (const entry of await readdir(join(web, 'src'), { withFileTypes: true })) {
  const { name } = entry;
  if (entry.isFile()) await cp(join(web, 'src', name), join(name.endsWith('.html') ? dist : assets, name));
}
for (const [from, to] of Object.entries(fromModules)) {
  await cp(join(web, 'node_modules', from), join(assets, to));
}

// The room page loads the library like any other page: as assets/rooms.js.
const asOthersDo = {
  name: 'rooms',
  setup: ({ onResolve }) => onResolve({ filter: /\/rooms\/index\.js$/ }, () => ({ path: './rooms.js', external: true })),
};
// The HLS player is in assets/ already. The room page loads it only when it needs it.
const withPlayer = {
  name: 'hls',
  setup: ({ onResolve }) => onResolve({ filter: /^hls\.js$/ }, () => ({ path: './hls.mjs', external: true })),
};
const { metafile } = await build({
  absWorkingDir: web,
  metafile: true,
  entryPoints: { rooms: join(web, 'src/rooms/index.ts'), conference: join(web, 'src/conference/main.ts') },
  outdir: assets,
  bundle: true,
  minify: true,
  format: 'esm',
  target: 'es2022',
  legalComments: 'none',
  logLevel: 'warning',
  plugins: [asOthersDo, withPlayer],
});

// The npm packages in assets/, for the list of licences (cmd/licences).
const files = [...Object.keys(fromModules).map((name) => `node_modules/${name}`), ...Object.keys(metafile.inputs)];
const packages = new Set(files.map((name) => /.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(name)?.[0]).filter(Boolean));
const cache = join(web, '..', '.cache');
await mkdir(cache, { recursive: true });
await writeFile(join(cache, 'packages.json'), JSON.stringify([...packages].map((name) => join(web, name))));

const large = 8 << 10; // bytes; compressing smaller files saves nothing
for (const name of await readdir(assets)) {
  const content = await readFile(join(assets, name));
  if (content.length >= large) await writeFile(join(assets, `${name}.gz`), gzipSync(content, { level: 9 }));
}
