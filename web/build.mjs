// Builds the page's script and style into the Python package: node build.mjs
import { build } from "esbuild";

await build({
  entryPoints: ["src/explorer.ts"],
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  outfile: "../minitriton/explorer/page/explorer.js",
});
await build({
  entryPoints: ["src/explorer.css"],
  minify: true,
  outfile: "../minitriton/explorer/page/explorer.css",
});
