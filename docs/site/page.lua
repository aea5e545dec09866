-- SPDX-License-Identifier: GPL-3.0-or-later
-- A filter of pandoc for one page of the site, from a document or a man page.
--   -M path=PATH     its path from the root of the source tree
-- Links between documents become links between pages (docs/site/site.py has the same names), links
-- to other files of the source tree become their paths.

local path -- of this document

-- The page of a document: guide.html for docs/guide.md, formulas-rules.html for
-- docs/formulas/rules.md, formulas.html for docs/formulas/README.md, index.html for README.md.
local function page_of(to)
  if to == "README.md" then return "index.html" end
  local header = to:match("^include/speclab/(%w+)%.h$")
  if header == "speclab" or header == "sampler" then return "c-" .. header .. ".html" end
  local name = to:match("^docs/(.+)%.md$") or to:match("^(C[A-Z]+)%.md$")
  return name and name:gsub("/README$", ""):gsub("/", "-"):lower() .. ".html"
end

-- The path of a link from the root of the tree.
local function resolved(link)
  local to = (path:match("^.*/") or "") .. link
  while to:find("[^/]+/%.%./") do to = to:gsub("[^/]+/%.%./", "", 1) end
  return to
end

local seen = {}
local function anchor(id)
  while seen[id] do id = id .. "-1" end -- a heading below an anchor of the same name
  seen[id] = true
  return id
end

-- A formula whose upright letters are upright in MathML, and a bold 1 is bold: pandoc says so by
-- styles that browsers ignore.
local function upright(formula)
  return (formula:gsub("\\mathop{\\mathrm(%b{})}", "\\operatorname%1")
    :gsub("\\mathrm(%b{})", "\\text%1"):gsub("\\mathrm (%a)", "\\text{%1}")
    :gsub("\\mathbf 1", "𝟏"):gsub("\\mathbf{1}", "𝟏"))
end

local markdown = {
  Header = function(header)
    header.identifier = anchor(header.identifier)
    return header
  end,
  RawInline = function(raw)
    local id = raw.text:match('^<a id="([^"]*)">$')
    return id and pandoc.Span({}, {id = anchor(id)}) or {}
  end,
  Code = function(code) -- a man page, or the name of another document
    local verb = code.text:match("^speclab (%l+) %-%-help$")
    if verb then return pandoc.Link(code, "speclab-" .. verb .. ".html") end
    local to = code.text:find("^[%w_]+%.md$") and resolved(code.text) or code.text
    local page = to ~= path and to:find("%.md$") and page_of(to)
    return page and pandoc.Link(code, page) or nil
  end,
  CodeBlock = function(code) -- a formula on its own line; pandoc's MathML has no \tag
    if not code.classes:includes("math") then return nil end
    local formula = code.text:gsub("\\tag(%b{})", "\\qquad\\text{(%1)}"):gsub("%({(.-)}%)", "(%1)")
    return pandoc.Div(pandoc.Para(pandoc.Math("DisplayMath", upright(formula))),
                      {class = "formula"})
  end,
  Math = function(math)
    return math.mathtype == "InlineMath" and pandoc.Math("InlineMath", upright(math.text)) or nil
  end,
  Image = function(image)
    image.src = image.src:match("[^/]*$")
    return image
  end,
  Link = function(link)
    local target, fragment = link.target:match("^([^#]*)(#?.*)$")
    if target == "" or target:find("^https?:") then return nil end
    local to = resolved(target)
    if page_of(to) then
      link.target = page_of(to) .. fragment
      return link
    end
    local text = pandoc.utils.stringify(link)
    if to:sub(-#text) == text then return pandoc.Code(text) end
    link.content:extend({pandoc.Str(" ("), pandoc.Code(to), pandoc.Str(")")})
    return pandoc.Span(link.content)
  end,
  Table = function(rows) -- an alignment would be a style of each cell
    local columns = rows.colspecs
    for i, column in ipairs(columns) do columns[i] = {pandoc.AlignDefault, column[2]} end
    rows.colspecs = columns
    return pandoc.Div(rows, {class = "wide"})
  end,
}

-- The title is the name of the verb and its line; an option is an anchor.
local function from_man(blocks)
  local verb, line = pandoc.utils.stringify(blocks[2]):match("^(%S+) %- (.*)$")
  local result = pandoc.List({
    pandoc.Header(1, pandoc.Code((verb:gsub("-", " ")))),
    pandoc.Para(pandoc.Str(line:sub(1, 1):upper() .. line:sub(2):gsub("%.$", "") .. ".")),
  })
  for i = 3, #blocks do
    local block = blocks[i]
    if block.t == "Header" then
      local text = pandoc.utils.stringify(block)
      text = text:sub(1, 1) .. text:sub(2):lower()
      local id = anchor((text:lower():gsub(" ", "-")))
      block = pandoc.Header(block.level + 1, pandoc.Str(text), {id = id})
    end
    result:insert(block)
  end
  return pandoc.walk_block(pandoc.Div(result), {
    DefinitionList = function(list)
      for _, item in ipairs(list.content) do
        local option = pandoc.utils.stringify(item[1]):match("%-%-[%w-]+")
        if option then item[1] = {pandoc.Span(item[1], {id = anchor(option:sub(3))})} end
      end
      return list
    end,
    Str = function(text) -- verbs, and documents
      local name, rest = text.text:match("^(speclab[%l-]*)%(1%)(,?)$")
      name = name or text.text:match("^speclab%-%l+$")
      local document, more = text.text:match("^(docs/[%w/_-]+%.md)(.*)$")
      if name then
        local link = pandoc.Link(pandoc.Code((name:gsub("-", " "))), name .. ".html")
        return {link, pandoc.Str(rest or "")}
      elseif document then
        return {pandoc.Link(pandoc.Code(document), page_of(document)), pandoc.Str(more)}
      end
    end,
  }).content
end

function Pandoc(page)
  path = pandoc.utils.stringify(page.meta.path)
  if path:find("%.1$") then
    page.blocks = from_man(page.blocks)
  else
    page.blocks = pandoc.walk_block(pandoc.Div(page.blocks), markdown).content
  end
  return page
end
