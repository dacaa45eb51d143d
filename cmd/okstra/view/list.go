package view

import (
	"strings"

	"github.com/okstra/okstra/lang"
)

// listedRun is the JSON face of lang.RunInfo.
type listedRun struct {
	Name        string   `json:"name"`
	Description string   `json:"description,omitempty"`
	TaskType    string   `json:"taskType"`
	Default     bool     `json:"default"`
	Rounds      []string `json:"rounds"`
	File        string   `json:"file"`
	Line        int      `json:"line"`
}

// List shows the runs of a definition.
func (v *View) List(runs []lang.RunInfo) error {
	doc := struct {
		Runs []listedRun `json:"runs"`
	}{Runs: []listedRun{}}
	for _, r := range runs {
		doc.Runs = append(doc.Runs, listedRun{r.Name, r.Description, r.TaskType, r.Default, nonNil(r.Rounds), v.rel(r.Declared.File), r.Declared.Line})
	}
	return v.show(doc, func(sc screen) []line {
		if len(runs) == 0 {
			return []line{plainLine("The definition holds no runs.")}
		}
		rows := [][]span{heads("RUN", "TASK TYPE", "ROUNDS", "DESCRIPTION")}
		for _, r := range doc.Runs {
			name := r.Name
			if r.Default {
				name += " (default)"
			}
			rounds := strings.Join(r.Rounds, ", ")
			if rounds == "" {
				rounds = "-"
			}
			rows = append(rows, []span{{strong, name}, {plain, r.TaskType}, {plain, rounds}, {faint, r.Description}})
		}
		return sc.table(rows, "", breakLines(3, 30), breakLines(2, 20), leaveOut(1), breakLines(3, 16), breakLines(2, 10), cut(0, 12))
	})
}

// Written says that init wrote a definition, for what, and with which command
// it goes on.
func (v *View) Written(file string, providers []string, next string) error {
	doc := struct {
		File      string   `json:"file"`
		Providers []string `json:"providers"`
	}{file, nonNil(providers)}
	return v.show(doc, func(sc screen) []line {
		found := "no worker CLI is on PATH, so a script stands in for one"
		if len(providers) > 0 {
			found = "found on PATH: " + strings.Join(providers, ", ")
		}
		return append(sc.folds(line{{good, "Wrote "}, {strong, file}, {plain, " (" + found + ")."}}), plainLine("Next: "+next))
	})
}
