"""Completion in bash, which takes `KEY=VALUE` and `profile:NAME` for several words."""

import os
import re

from click.shell_completion import BashComplete, CompletionItem, add_completion_class, split_arg_string

SCRIPT = """\
%(complete_func)s() {
    local type value
    COMPREPLY=()
    while IFS=',' read -r type value; do
        if [[ $type == file ]]; then
            compopt -o default 2>/dev/null
        else
            COMPREPLY+=("$value")
            [[ $value == *= ]] && compopt -o nospace 2>/dev/null
        fi
    done < <(COMP_WORDS="${COMP_LINE:0:COMP_POINT}" %(complete_var)s=bash_complete "$1")
}

complete -o nosort -F %(complete_func)s %(prog_name)s
"""

BEFORE_THE_LAST_WORD = re.compile(r".*[=:]", re.DOTALL)


class Bash(BashComplete):
    """Words are those of our own line, and bash gets of each the part that it takes for the last word."""

    source_template = SCRIPT

    def get_completion_args(self) -> tuple[list[str], str]:
        """The words before the cursor, and the one that is begun there."""
        line = os.environ["COMP_WORDS"]
        words = split_arg_string(line)[1:]
        if not words or line[-1:].isspace():
            return words, ""
        return words[:-1], words[-1]

    def format_completion(self, item: CompletionItem) -> str:
        """The kind of a proposal, and what of it bash is to put in the place of its last word."""
        _, begun = self.get_completion_args()
        known = BEFORE_THE_LAST_WORD.match(begun)
        value = str(item.value)
        if known and value.startswith(known[0]):
            value = value[known.end() :]
        return f"{item.type},{value}"


add_completion_class(Bash)
