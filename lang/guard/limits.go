package guard

import "strconv"

// The limits of one definition file.
const (
	// MaxFile is the size of a file in bytes.
	MaxFile = 1 << 20
	// MaxNesting is how deep brackets, blocks, quotes, heredocs, template
	// sequences and template directives may stand in each other.
	MaxNesting = 200
	// MaxChain is how many operators, conditionals, attribute and index steps
	// one expression may hold, those of the expressions around it included.
	MaxChain = 1000
	// MaxNumber is the length of a number in bytes.
	MaxNumber = 100
	// MaxExponent is the largest exponent of a number, of either sign.
	MaxExponent = 400
)

// Limit is one row of docs/limits.md.
type Limit struct {
	Name  string
	Value string
	Why   string
}

// Limits lists what Check holds a file to.
func Limits() []Limit {
	return []Limit{
		{"size of a definition file", "1 MiB", "A definition is written by people; a larger file is a mistake, and would cost memory before it could be said so."},
		{"nesting in a definition file", strconv.Itoa(MaxNesting) + " levels", "Brackets, blocks, quotes, heredocs and templates in each other. Deeper input overflows the parser's stack, which cannot be recovered from."},
		{"operators in one expression", strconv.Itoa(MaxChain), "Every operator, conditional, attribute and index step deepens the expression's tree, which is walked recursively."},
		{"length of a number", strconv.Itoa(MaxNumber) + " characters", "Numbers are exact; a longer one is a mistake."},
		{"exponent of a number", strconv.Itoa(MaxExponent) + ", of either sign", "Writing out 1e20000000 takes twenty million digits."},
		{"NUL characters in a definition file", "none, written as they are or as an escape", "Names, arguments and environment values cannot hold one."},
	}
}
