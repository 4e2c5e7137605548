"""The page as it is shipped: `page.html`, and `explorer.js` and `explorer.css`, which `make page` builds from `web/`."""
