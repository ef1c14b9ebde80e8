-- Strings of JSON, one a line of the file that the environment variable TEXTS names, in turn.
local path = assert(os.getenv("TEXTS"), "TEXTS names no file")
local lines, at = {}, 0
for line in io.lines(path) do
    lines[#lines + 1] = line
end
assert(#lines > 0, path .. " has no lines")

return {
    next = function()
        at = at % #lines + 1
        return lines[at]
    end,
}
