# Reads one JSON document. Prints a line for each value: its path, a tab, the value. With -v pretty=1: prints it indented.
# Other escapes than \" \/ \\ stay as they are in the document.
{ text = text $0 "\n" }

END {
    position = 1
    read_value("", "")
    if (pretty) print ""
}

# Moves to the next character that is not white space, and returns it.
function next_character() {
    while (position < length(text) && index(" \t\r\n", character = substr(text, position, 1))) position++
    return character
}

# Reads a string, number or literal, and returns it as it is in the document.
function read_token(    start) {
    start = position
    if (substr(text, position, 1) == "\"") {
        position++
        while (position < length(text) && (character = substr(text, position, 1)) != "\"") {
            position += character == "\\" ? 2 : 1
        }
        position++
    } else {
        while (position < length(text) && !index(" \t\r\n,:]}", substr(text, position, 1))) position++
    }
    return substr(text, start, position - start)
}

function unquote(token) {
    if (token !~ /^"/) return token
    token = substr(token, 2, length(token) - 2)
    gsub(/\\"/, "\"", token)
    gsub(/\\\//, "/", token)
    gsub(/\\\\/, "\\", token)
    return token
}

function read_value(path, indent,    opening, closing, count, token) {
    opening = next_character()
    if (opening != "{" && opening != "[") {
        token = read_token()
        if (pretty) printf "%s", token
        else print path "\t" unquote(token)
        return
    }
    closing = opening == "{" ? "}" : "]"
    position++
    if (pretty) printf "%s", opening
    for (count = 0; position < length(text) && next_character() != closing; count++) {
        if (character == ",") { position++; next_character() }
        if (pretty) printf "%s\n%s  ", count ? "," : "", indent
        if (opening == "{") {
            token = read_token()
            next_character(); position++ # the colon
            if (pretty) printf "%s: ", token
            read_value(path (path == "" ? "" : ".") unquote(token), indent "  ")
        } else {
            read_value(path "[" count "]", indent "  ")
        }
    }
    position++
    if (pretty) printf "%s%s", count ? "\n" indent : "", closing
    else if (!count) print path "\t" opening closing
}
