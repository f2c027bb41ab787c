// Fills web/dist, which the server embeds: our pages from web/src and the few files
// of web/node_modules that they load. The pages load files only from this server.
// Most files are copied. TypeScript (the libraries of rooms and shows, and the pages of rooms, shows, purchases and the player) is bundled.
// Large files are also stored gzipped.
import { createHash } from 'node:crypto';
import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
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

// esbuild puts all that any screen uses of a package's index into the part of the sign-in page. So imports of Mantine's index are
// rewritten to imports of its files.
const mantine = join(web, 'node_modules/@mantine/core/esm');
const mantineFiles = new Map();
for (const [, names, file] of (await readFile(join(mantine, 'index.mjs'), 'utf8')).matchAll(/import \{([^}]*)\} from "([^"]*)"/g)) {
  for (const name of names.split(',')) mantineFiles.set(name.trim(), join(mantine, file));
}
const withoutIndex = {
  name: 'mantine',
  setup: ({ onLoad }) => onLoad({ filter: /src\/console\/.*\.tsx?$/ }, async ({ path }) => ({
    loader: path.endsWith('x') ? 'tsx' : 'ts',
    contents: (await readFile(path, 'utf8')).replace(/import \{([^}]*)\} from '@mantine\/core';/g, (whole, list) => (
      list.split(',').map((name) => name.trim()).filter((name) => name && !name.startsWith('type '))
        .map((name) => `import { ${name} } from ${JSON.stringify(mantineFiles.get(name) ?? '@mantine/core')};`).join(' ')
    )),
  })),
};

// The consoles. Their files have hashes in their names, and each screen is a file of its own. A style sheet that a dynamic import
// needs is not loaded by itself, so there are two: one for the sign-in page, and one for the rest, which lib/styles.ts loads.
const folder = join(assets, 'console');
const consoles = await build({
  absWorkingDir: web,
  metafile: true,
  entryPoints: {
    console: join(web, 'src/console/tenant/main.tsx'), admin: join(web, 'src/console/admin/main.tsx'),
    entry: join(web, 'src/console/entry.css'), screens: join(web, 'src/console/screens.css'),
  },
  outdir: folder,
  entryNames: '[name]-[hash]',
  chunkNames: 'part-[hash]',
  bundle: true,
  splitting: true,
  minify: true,
  format: 'esm',
  target: 'es2022',
  jsx: 'automatic',
  jsxImportSource: 'react',
  tsconfig: join(web, 'src/console/tsconfig.json'),
  plugins: [withoutIndex],
  define: { 'process.env.NODE_ENV': '"production"' },
  legalComments: 'none',
  logLevel: 'warning',
});
const built = Object.fromEntries(Object.entries(consoles.metafile.outputs).filter(([, { entryPoint }]) => entryPoint)
  .map(([file, { entryPoint }]) => [entryPoint, `/${file.slice(file.indexOf('assets/'))}`]));
// The files that a file imports at once, and those that these import. Without a hint, the browser learns of them one after the other.
const importsOf = (file, found = new Set()) => {
  for (const { path, kind } of consoles.metafile.outputs[file].imports) {
    if (kind !== 'import-statement' || found.has(path)) continue;
    found.add(path);
    importsOf(path, found);
  }
  return found;
};
const shell = await readFile(join(web, 'src/console/shell.html'), 'utf8');
for (const [name, title, main] of [['console', 'Console', 'tenant/main.tsx'], ['admin', 'Admin', 'admin/main.tsx']]) {
  await writeFile(join(dist, `${name}.html`), shell.replace('{title}', title).replace('{script}', built[`src/console/${main}`])
    .replace('{preloads}', [...importsOf(built[`src/console/${main}`].replace('/assets', relative(web, assets)))]
      .map((file) => `<link rel="modulepreload" href="/${file.slice(file.indexOf('assets/'))}" />`).join('\n    '))
    .replace('{entry}', built['src/console/entry.css']).replace('{screens}', built['src/console/screens.css']));
}

// The npm packages in assets/, for the list of licences (cmd/licences).
const files = [...Object.keys(fromModules).map((name) => `node_modules/${name}`), ...Object.keys(metafile.inputs), ...Object.keys(consoles.metafile.inputs)];
const packages = new Set(files.map((name) => /.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(name)?.[0]).filter(Boolean));
const cache = join(web, '..', '.cache');
await mkdir(cache, { recursive: true });
await writeFile(join(cache, 'packages.json'), JSON.stringify([...packages].map((name) => join(web, name))));

const large = 8 << 10; // bytes; compressing smaller files saves nothing
for (const entry of await readdir(assets, { recursive: true, withFileTypes: true })) {
  if (!entry.isFile()) continue;
  const name = join(entry.parentPath, entry.name).slice(assets.length + 1);
  const content = await readFile(join(assets, name));
  if (content.length >= large) await writeFile(join(assets, `${name}.gz`), gzipSync(content, { level: 9 }));
}
