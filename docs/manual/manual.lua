-- SPDX-License-Identifier: GPL-3.0-or-later
-- Joins documents and man pages into one page, as a filter of pandoc with an empty input.
--   -M documents="PATH..."     paths from the root of the source tree; *.1 is a man page
-- An anchor of docs/guide.md is #guide--NAME in the page. Links between documents follow it; links
-- to other files of the source tree become their paths. Figures are embedded.

local documents = {} -- paths that are part of the page

local function read_file(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read("a")
  file:close()
  return text
end

-- The name of a document in the page: guide for docs/guide.md, formulas-rules for
-- docs/formulas/rules.md, formulas for docs/formulas/README.md.
local function name_of(path)
  path = path:gsub("^docs/", ""):gsub("^build/man/", ""):gsub("(.)/README%.", "%1.")
  return path:match("^(.*)%.%w+$"):gsub("/", "-"):lower()
end

-- The path of a link in the document `from`, from the root of the tree.
local function resolved(from, link)
  local path = (from:match("^.*/") or "") .. link
  while path:find("[^/]+/%.%./") do path = path:gsub("[^/]+/%.%./", "", 1) end
  return path
end

local function svg_link(path)
  local text = read_file(path):gsub("[^%w .,:;/=()-]", function(c)
    return ("%%%02X"):format(c:byte())
  end)
  return "data:image/svg+xml," .. text
end

-- The blocks of a document, with its own anchors.
local function from_markdown(path)
  local name = name_of(path)
  local seen = {}
  local function anchor(id)
    while seen[id] do id = id .. "-1" end -- a heading below an anchor of the same name
    seen[id] = true
    return name .. "--" .. id
  end
  local blocks = pandoc.read(read_file(path), "gfm+tex_math_dollars").blocks
  local title = blocks[1]
  assert(title and title.t == "Header" and title.level == 1, path .. " does not begin with a title")
  table.remove(blocks, 1)
  local filter = {
    Header = function(header)
      header.identifier = anchor(header.identifier)
      return header
    end,
    RawInline = function(raw)
      local id = raw.text:match('^<a id="([^"]*)">$')
      return id and pandoc.Span({}, {id = anchor(id)}) or {}
    end,
    Code = function(code) -- the name of another document
      local to = code.text:find("^[%w_]+%.md$") and resolved(path, code.text) or code.text
      return documents[to] and to ~= path and pandoc.Link(code, "#" .. name_of(to)) or nil
    end,
    CodeBlock = function(code) -- a formula on its own line; pandoc's MathML has no \tag
      if not code.classes:includes("math") then return nil end
      local formula = code.text:gsub("\\tag(%b{})", "\\qquad\\text{(%1)}"):gsub("%({(.-)}%)", "(%1)")
      return pandoc.Div(pandoc.Para(pandoc.Math("DisplayMath", formula)), {class = "formula"})
    end,
    Image = function(image)
      image.src = svg_link(resolved(path, image.src))
      return image
    end,
    Link = function(link)
      local target, fragment = link.target:match("^([^#]*)#?(.*)$")
      if target:find("^https?:") then return nil end
      local to = target == "" and path or resolved(path, target)
      if documents[to] then
        link.target = "#" .. name_of(to) .. (fragment ~= "" and "--" .. fragment or "")
        return link
      end
      local text = pandoc.utils.stringify(link)
      if to:sub(-#text) == text then return pandoc.Code(text) end
      link.content:extend({pandoc.Str(" ("), pandoc.Code(to), pandoc.Str(")")})
      return pandoc.Span(link.content)
    end,
    Table = function(rows)
      return pandoc.Div(rows, {class = "wide"})
    end,
  }
  title.identifier = name
  return title, pandoc.walk_block(pandoc.Div(blocks), filter).content
end

local function from_man(path)
  local blocks = pandoc.List()
  local name = name_of(path)
  blocks:insert(pandoc.Header(2, pandoc.Code((name:gsub("-", " "))), {id = name}))
  for _, block in ipairs(pandoc.read(read_file(path), "man").blocks) do
    if block.t == "Header" then
      block = pandoc.Header(3, {pandoc.Str(pandoc.utils.stringify(block))})
    end
    blocks:insert(block)
  end
  return blocks
end

function Pandoc(page)
  local sections = {} -- each has a title and blocks
  local commands
  for path in pandoc.utils.stringify(page.meta.documents):gmatch("%S+") do
    if path:find("%.1$") then
      if not commands then
        commands = {title = pandoc.Header(1, "Commands", {id = "commands"}), blocks = pandoc.List()}
        table.insert(sections, commands)
      end
      commands.blocks:extend(from_man(path))
    else
      documents[path] = true
      table.insert(sections, {path = path})
    end
  end

  local contents = pandoc.List()
  local function html(text) return pandoc.RawBlock("html", text) end
  local function entry(header)
    return pandoc.Plain({pandoc.Link(header.content, "#" .. header.identifier)})
  end
  for _, section in ipairs(sections) do
    if section.path then section.title, section.blocks = from_markdown(section.path) end
    page.blocks:insert(section.title)
    page.blocks:extend(section.blocks)
    local below = pandoc.List()
    for _, block in ipairs(section.blocks) do
      if block.t == "Header" and block.level == 2 and block.identifier ~= "" then
        below:insert({entry(block)})
      end
    end
    contents:extend({html("<details><summary>"), entry(section.title), html("</summary>"),
                     pandoc.BulletList(below), html("</details>")})
  end
  page.meta.contents = pandoc.MetaBlocks(contents)
  return page
end
