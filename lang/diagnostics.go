package lang

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/agext/levenshtein"
	"github.com/hashicorp/hcl/v2"
)

// Summaries of diagnostics: one text for each kind of mistake. Tests and tools
// may key on them.
const (
	SummaryNotFound           = "Definition not found"
	SummaryAmbiguous          = "More than one definition"
	SummaryUnreadable         = "File cannot be read"
	SummarySyntax             = "Further syntax errors"
	SummaryBraceMissing       = "Closing brace missing"
	SummaryBracketMissing     = "Closing bracket missing"
	SummaryBraceTooMany       = "Closing brace too many"
	SummaryHeredoc            = "Text without an end"
	SummaryQuotes             = "Quotes missing"
	SummaryLeavesRoot         = "Path leaves the project"
	SummaryVersion            = "okstra version not met"
	SummaryUnknownAttribute   = "Unknown attribute"
	SummaryUnknownBlock       = "Unknown block"
	SummaryMissingAttribute   = "Missing attribute"
	SummaryLabels             = "Wrong labels"
	SummaryDuplicate          = "Duplicate definition"
	SummaryName               = "Name not allowed"
	SummaryUnknownReference   = "Unknown reference"
	SummaryNotInScope         = "Not in scope here"
	SummaryUnknownFunction    = "Unknown function"
	SummaryWrongType          = "Wrong type"
	SummaryWrongValue         = "Value not allowed"
	SummaryOutOfRange         = "Value out of range"
	SummaryTooLarge           = "Value too large"
	SummaryNUL                = "NUL character"
	SummaryCycle              = "Definition refers to itself"
	SummaryImportCycle        = "Imports form a ring"
	SummaryImport             = "Import cannot be followed"
	SummaryOverride           = "Nothing to override"
	SummaryOverrideOwn        = "Override of an own definition"
	SummaryCatalogOnly        = "Only the catalog defines this"
	SummaryVariableMissing    = "Variable has no value"
	SummaryVariableInvalid    = "Variable not valid"
	SummaryVariableUndeclared = "Variable not declared"
	SummarySensitive          = "Sensitive value outside env"
	SummarySymbolic           = "Path not known yet"
	SummaryNull               = "Null in a text"
	SummaryNoRun              = "No such run"
	SummaryRunEmpty           = "Run has nothing to do"
	SummarySameTask           = "Two runs of one task"
	SummaryAfter              = "Round cannot wait for this"
	SummaryEmptyTo            = "Nobody to do it"
	SummaryDuplicateWorker    = "Duplicate assignment"
	SummaryPhaseOrder         = "Implementation phase order"
	SummaryExecutors          = "More than one executor"
	SummaryReportWriter       = "Report-writer round needs one worker"
	SummaryReportRole         = "Report-writer outside its round"
	SummaryReverify           = "Nothing to verify again"
	SummaryReverifyFew        = "Too few analysts to verify again"
	SummaryRoundKind          = "Two rounds of one kind"
	SummaryConvergence        = "Convergence outside a reverify round"
	SummaryWriter             = "Role may not write"
	SummaryRequiredRole       = "Required role missing"
	SummaryResultRead         = "Result file with read access"
	SummaryBudget             = "Budget cannot be counted"
	SummaryPrompt             = "Prompt does not arrive once"
	SummaryBudgetSmall        = "Budget allows no start"
	SummaryCommand            = "Provider has no command"
	SummaryProgram            = "Program cannot be started"
	SummaryModel              = "Model not known"
	SummaryParameter          = "Parameter not given"
	SummaryUnknownParameter   = "Unknown parameter"
	SummaryForEach            = "for_each cannot use this"
	SummaryTooMany            = "Too many workers"
	SummaryTooLong            = "Names too long for a file"
	SummaryInput              = "Input not there"
	SummaryPlaceholder        = "Placeholder left as it is"
	SummaryUnused             = "Never used"
)

// fault makes an error diagnostic at a place. Other places that it names are
// written as file:line:column, the form that diagnostics begin with.
func fault(at hcl.Range, summary, detail string, args ...any) *hcl.Diagnostic {
	args = slices.Clone(args)
	for i, a := range args {
		if r, ok := a.(hcl.Range); ok {
			args[i] = fmt.Sprintf("%s:%d:%d", r.Filename, r.Start.Line, r.Start.Column)
		}
	}
	return &hcl.Diagnostic{Severity: hcl.DiagError, Summary: summary, Detail: fmt.Sprintf(detail, args...), Subject: at.Ptr()}
}

// caution makes a warning diagnostic at a place.
func caution(at hcl.Range, summary, detail string, args ...any) *hcl.Diagnostic {
	d := fault(at, summary, detail, args...)
	d.Severity = hcl.DiagWarning
	return d
}

// bare makes an error diagnostic that has no place in a file.
func bare(summary, detail string, args ...any) *hcl.Diagnostic {
	return &hcl.Diagnostic{Severity: hcl.DiagError, Summary: summary, Detail: fmt.Sprintf(detail, args...)}
}

// nearest returns the name most like the given one, or "". A name is like
// another where two thirds of the letters stay, so that the fewer there are, the
// fewer may differ, or where there is one letter more or less.
func nearest(given string, names []string) string {
	best, bestDistance := "", len(given)+1
	for _, name := range slices.Sorted(slices.Values(names)) {
		g, n := strings.ToLower(given), strings.ToLower(name)
		d := levenshtein.Distance(g, n, nil)
		if swapped(g, n) {
			d = 1
		}
		alike := 3*d <= max(len(g), len(n)) || d == 1 && len(g) != len(n) && g != ""
		if alike && d < bestDistance {
			best, bestDistance = name, d
		}
	}
	if best == "" && len(given) >= 3 {
		for _, name := range slices.Sorted(slices.Values(names)) {
			if strings.HasPrefix(name, given) {
				return name
			}
		}
	}
	return best
}

// swapped reports whether two neighbouring letters of a are in the wrong order
// in b, and all else is the same.
func swapped(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	return i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
}

// meant returns " Did you mean X?" for the nearest name, else a list of the
// names where it is short, else "".
func meant(given string, names []string) string {
	if n := nearest(given, names); n != "" {
		return fmt.Sprintf(" Did you mean %s?", n)
	}
	if len(names) > 0 && len(names) <= 12 {
		return fmt.Sprintf(" Known: %s.", strings.Join(slices.Sorted(slices.Values(names)), ", "))
	}
	return ""
}

// meantDefined is meant for names that are defined in definitions: it says so
// where there are none.
func meantDefined(kind, given string, names []string) string {
	if len(names) == 0 {
		return fmt.Sprintf(" No %s is defined.", strings.ReplaceAll(kind, "_", " "))
	}
	return meant(given, names)
}

// oneOf joins names for a sentence: "a, b or c".
func oneOf(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}

// clamp keeps ranges inside their files. In JSON syntax, HCL's places inside a
// string with escapes, and at the end of a broken file, are off by some bytes.
func clamp(diags hcl.Diagnostics, files map[string]*hcl.File) hcl.Diagnostics {
	for _, d := range diags {
		for _, r := range []*hcl.Range{d.Subject, d.Context} {
			if r == nil || !isJSON(r.Filename) || files[r.Filename] == nil {
				continue
			}
			size := len(files[r.Filename].Bytes)
			r.End.Byte = min(r.End.Byte, size)
			r.Start.Byte = min(r.Start.Byte, r.End.Byte)
		}
	}
	return diags
}

// placed writes the places that HCL names in a detail as file:line:column,
// the form that diagnostics begin with.
func placed(d *hcl.Diagnostic) {
	if d.Subject == nil || d.Subject.Filename == "" || !strings.Contains(d.Detail, d.Subject.Filename+":") {
		return
	}
	ranges := regexp.MustCompile(regexp.QuoteMeta(d.Subject.Filename) + `:([0-9]+),([0-9]+)-[0-9]+(?:,[0-9]+)?`)
	d.Detail = ranges.ReplaceAllString(d.Detail, strings.ReplaceAll(d.Subject.Filename, "$", "$$")+":$1:$2")
}

// tidy sorts diagnostics (errors and warnings apart, then file and place) and
// drops repeats: one faulty expression of a duty is one mistake, however many
// workers it is evaluated for.
func tidy(diags hcl.Diagnostics) hcl.Diagnostics {
	if len(diags) == 0 {
		return nil
	}
	type key struct {
		severity        hcl.DiagnosticSeverity
		summary, detail string
		at              hcl.Range
	}
	keyOf := func(d *hcl.Diagnostic) key {
		k := key{severity: d.Severity, summary: d.Summary, detail: d.Detail}
		if d.Subject != nil {
			k.at = *d.Subject
		}
		return k
	}
	// The worker for which something is null is only the first of perhaps many.
	told := func(d *hcl.Diagnostic) key {
		k := keyOf(d)
		if d.Summary == SummaryNull {
			k.detail = ""
		}
		return k
	}
	seen := make(map[key]bool, len(diags))
	out := make(hcl.Diagnostics, 0, len(diags))
	for _, d := range diags {
		placed(d)
		if k := told(d); !seen[k] {
			seen[k] = true
			out = append(out, d)
		}
	}
	slices.SortStableFunc(out, func(a, b *hcl.Diagnostic) int {
		ka, kb := keyOf(a), keyOf(b)
		return cmp.Or(
			cmp.Compare(kb.severity, ka.severity), // DiagWarning is the greater one: warnings first, errors last and nearest to the prompt
			cmp.Compare(ka.at.Filename, kb.at.Filename),
			cmp.Compare(ka.at.Start.Byte, kb.at.Start.Byte),
			cmp.Compare(ka.at.End.Byte, kb.at.End.Byte),
			cmp.Compare(ka.summary, kb.summary),
			cmp.Compare(ka.detail, kb.detail),
		)
	})
	return out
}
