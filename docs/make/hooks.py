"""What MkDocs does beside its own work to make the site of docs/ (mkdocs.yml names this file).

The documents are written for two readers, a hosting site and this one. Three things differ here: documents that stand
outside docs/ become pages, links to what is not on the site become text, and drawings become part of their page, so
that they follow its colors.
"""

import posixpath
import re
import shutil
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
# Documents outside docs/, and the pages that they become.
OUTSIDE = {
    "ARCHITECTURE.md": "architecture.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "README.md": "README.md",
    "samples/README.md": "samples.md",
}
RUSTDOC = ROOT / "target/doc"
WORKER = "https://unpkg.com/iframe-worker/shim"
LINK = re.compile(r"(?<!!)\[(?P<text>[^\[\]]*)\]\((?P<target>[^()\s]+)\)")
IMAGE = re.compile(r'<p>\s*<img alt="[^"]*" src="(?P<source>[^"]*\.svg)"\s*/?>\s*</p>')
CODE = re.compile(r"(?ms)^ *```.*?^ *```|`[^`\n]+`")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """One page for each scheme follows the overview of schemes, in the order of the overview."""
    overview = (ROOT / "docs/schemes/README.md").read_text()
    pages = [{name: f"schemes/{path}"} for name, path in re.findall(r"(?m)^\| \[`([^`]*)`\]\(([^()]*)\)", overview)]
    for entry in config.nav or []:
        if "Schemes" in entry:
            entry["Schemes"] = entry["Schemes"][:1] + pages
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the documents that stand outside docs/."""
    for source, target in OUTSIDE.items():
        if target not in files.src_uris:
            files.append(File.generated(config, target, content=(ROOT / source).read_text()))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turns links that leave docs/ to the pages that stand for their targets, or into text."""
    ours = {target: source for source, target in OUTSIDE.items() if target != "README.md"}
    here = ours.get(page.file.src_uri, f"docs/{page.file.src_uri}")
    codes: list[str] = []

    def hide(found: re.Match[str]) -> str:
        codes.append(found[0])
        return f"\0{len(codes) - 1}\0"

    def link(found: re.Match[str]) -> str:
        path, hash_sign, anchor = found["target"].partition("#")
        if re.match(r"[a-z]+:", path) or not path:
            return found[0]
        target = posixpath.normpath(posixpath.join(posixpath.dirname(here), path))
        inside = OUTSIDE.get(target, target.removeprefix("docs/") if target.startswith("docs/") else "")
        if f"{inside}/README.md" in files.src_uris:
            inside = f"{inside}/README.md"
        if inside not in files.src_uris:
            return found["text"] if (ROOT / target).exists() else found[0]
        relative = posixpath.relpath(inside, posixpath.dirname(page.file.src_uri) or ".")
        return f"[{found['text']}]({relative}{hash_sign}{anchor})"

    hidden = LINK.sub(link, CODE.sub(hide, markdown))
    return re.sub(r"\0(\d+)\0", lambda found: codes[int(found[1])], hidden)


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Puts drawings into their page in place of links to them, and links crates to their documentation if it was
    built."""

    def drawing(found: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(posixpath.dirname(page.file.dest_uri), found["source"]))
        file = files.get_file_from_path(path)
        if file is None or not file.abs_src_path:
            return found[0]
        text = Path(file.abs_src_path).read_text()
        if 'class="drawing"' not in text:
            return found[0]
        return f'<div class="drawing-box">{re.sub(r"(?s)<style>.*?</style>", "", text)}</div>'

    if page.file.src_uri == "api/rust.md" and RUSTDOC.exists():
        for crate in re.findall(r"<code>(flashraid_\w+)</code>", html):
            if (RUSTDOC / crate / "index.html").exists():
                link = f'<a href="../rust/{crate}/index.html"><code>{crate}</code></a>'
                html = html.replace(f"<code>{crate}</code>", link)
    if page.file.src_uri == "api/python.md":  # docstrings name documents by their path
        html = re.sub(r"\bdocs/([\w-]+)\.md", r'<a href="../\1.html">\1</a>', html)
    return IMAGE.sub(drawing, html)


def on_post_build(config: MkDocsConfig) -> None:
    """Adds the documentation of the crates, if cargo has built it."""
    if RUSTDOC.exists():
        shutil.copytree(RUSTDOC, Path(config.site_dir, "rust"), dirs_exist_ok=True)


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """The plugin `offline` would fetch its worker for pages opened from files; this one is ours."""
    return output.replace(WORKER, posixpath.relpath("assets/worker.js", posixpath.dirname(page.file.dest_uri) or "."))
