// Fills web/dist, which the server embeds: our pages from web/src and the few
// files of web/node_modules that they load, everything served from this server
// alone. Most is served as it stands here; what is written in TypeScript (the
// library of rooms and the room page) is bundled. Large files lie there gzipped too.
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
  'hls.js/LICENSE': 'hls.LICENSE.txt',
  'centrifuge/LICENSE': 'centrifuge.LICENSE.txt',
  'swagger-ui-dist/swagger-ui-bundle.js': 'swagger-ui.js',
  'swagger-ui-dist/swagger-ui-bundle.js.LICENSE.txt': 'swagger-ui-bundle.js.LICENSE.txt',
  'swagger-ui-dist/swagger-ui.css': 'swagger-ui.css',
  'swagger-ui-dist/LICENSE': 'swagger-ui.LICENSE.txt',
  'swagger-ui-dist/NOTICE': 'swagger-ui.NOTICE.txt',
};

for (const name of await readdir(dist)) {
  if (name !== '.gitkeep') await rm(join(dist, name), { recursive: true });
}
await mkdir(assets);

// Pages lie at the top, what they load in assets/.
for (const entry of await readdir(join(web, 'src'), { withFileTypes: true })) {
  const { name } = entry;
  if (entry.isFile()) await cp(join(web, 'src', name), join(name.endsWith('.html') ? dist : assets, name));
}
for (const [from, to] of Object.entries(fromModules)) {
  await cp(join(web, 'node_modules', from), join(assets, to));
}

// The page loads the library as anybody else would: as assets/rooms.js.
const asOthersDo = {
  name: 'rooms',
  setup: ({ onResolve }) => onResolve({ filter: /\/rooms\/index\.js$/ }, () => ({ path: './rooms.js', external: true })),
};
// The HLS player lies in assets/ already; the room page loads it when it needs it.
const withPlayer = {
  name: 'hls',
  setup: ({ onResolve }) => onResolve({ filter: /^hls\.js$/ }, () => ({ path: './hls.mjs', external: true })),
};
await build({
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

const large = 8 << 10; // bytes; below that compression gains nothing
for (const name of await readdir(assets)) {
  const content = await readFile(join(assets, name));
  if (content.length >= large) await writeFile(join(assets, `${name}.gz`), gzipSync(content, { level: 9 }));
}
