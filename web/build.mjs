// Fills web/dist, which the server embeds: our pages from web/src and the few files
// of web/node_modules that they load. The pages load files only from this server.
// Most files are copied. TypeScript (the libraries of rooms and shows, and the pages of rooms, shows, purchases and the player) is bundled.
// Large files are also stored gzipped.
import { createHash } from 'node:crypto';
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
  'hls.js/dist/hls.light.min.mjs': 'hls-light.mjs',
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

// Our pages load the libraries like any other page: as assets/rooms.js and assets/shop.js.
const asOthersDo = {
  name: 'libraries',
  setup: ({ onResolve }) => onResolve({ filter: /\/(rooms|shop)\/index\.js$/ }, ({ path }) => (
    { path: path.includes('/rooms/') ? './rooms.js' : './shop.js', external: true }
  )),
};
// hls.js is in assets/ already. The room page loads it only when it needs it, the shopping page beside its data.
const withPlayer = {
  name: 'hls',
  setup: ({ onResolve }) => onResolve({ filter: /^hls\.js(\/light)?$/ }, ({ path }) => (
    { path: path.endsWith('/light') ? './hls-light.mjs' : './hls.mjs', external: true }
  )),
};
const { metafile } = await build({
  absWorkingDir: web,
  metafile: true,
  entryPoints: {
    rooms: join(web, 'src/rooms/index.ts'), shop: join(web, 'src/shop/index.ts'), conference: join(web, 'src/conference/main.ts'),
    player: join(web, 'src/player/main.ts'), shopping: join(web, 'src/shopping/main.tsx'), studio: join(web, 'src/studio/main.tsx'),
    purchase: join(web, 'src/purchase/main.ts'),
  },
  outdir: assets,
  bundle: true,
  minify: true,
  format: 'esm',
  target: 'es2022',
  legalComments: 'none',
  logLevel: 'warning',
  plugins: [asOthersDo, withPlayer],
});

// A shop's page loads embed.js as a plain script.
await build({
  absWorkingDir: web, entryPoints: { embed: join(web, 'src/embed/embed.ts') }, outdir: assets, bundle: true, minify: true, format: 'iife',
  target: 'es2022', legalComments: 'none', logLevel: 'warning',
});

// media-chrome's elements contain <style> elements, which the player page's policy would forbid. It allows those with these
// hashes, which pages.go adds to it. The elements can make their HTML in Node as well, so the hashes come from the package itself.
const hashes = new Set();
for (const name of Object.keys(metafile.inputs).filter((file) => /media-chrome\/dist\/(menu\/)?media-[^/]+$/.test(file))) {
  for (const element of Object.values(await import(join(web, name)))) {
    for (const [, style] of element?.getTemplateHTML?.({}).matchAll(/<style[^>]*>(.*?)<\/style>/gs) ?? []) {
      hashes.add(`'sha256-${createHash('sha256').update(style).digest('base64')}'`);
    }
  }
}
await writeFile(join(dist, 'player-styles.txt'), [...hashes].sort().join(' '));

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
