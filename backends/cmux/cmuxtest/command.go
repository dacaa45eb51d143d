package cmuxtest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// roleVariable makes a test binary be the cmux command.
const roleVariable = "CMUXTEST_VERSION"

// Main is called first in TestMain of every package that starts a server: the
// cmux command of a server is the test binary itself. It returns at once in an
// ordinary test process.
func Main() {
	version, ok := os.LookupEnv(roleVariable)
	if !ok {
		return
	}
	os.Exit(run(version, os.Args[1:], os.Getenv, os.Stdin, os.Stdout, os.Stderr))
}

// installCommand writes the cmux command, which calls this binary back.
func (s *Server) installCommand() error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	bin := filepath.Join(s.dir, "bin")
	if err := os.MkdirAll(bin, 0o700); err != nil {
		return fmt.Errorf("install the command: %w", err)
	}
	text := "#!/bin/sh\n" + roleVariable + "='" + s.options.Version + "' exec '" + strings.ReplaceAll(self, "'", `'\''`) + "' \"$@\"\n"
	if err := os.WriteFile(filepath.Join(bin, "cmux"), []byte(text), 0o700); err != nil {
		return fmt.Errorf("install the command: %w", err)
	}
	return nil
}

// invocation is one call of the command.
type invocation struct {
	getenv  func(string) string
	stdin   *os.File
	stdout  io.Writer
	socket  string
	json    bool
	idForm  string
	command string
	args    []string
}

func run(version string, args []string, getenv func(string) string, stdin *os.File, stdout, stderr io.Writer) int {
	inv := &invocation{getenv: getenv, stdin: stdin, stdout: stdout, idForm: "refs"}
	if err := inv.parse(args); err != nil {
		fmt.Fprintf(stderr, "Error: %v\n", err)
		return 1
	}
	switch inv.command {
	case "":
		fmt.Fprintln(stderr, "Usage: cmux <command>")
		return 2
	case "--version", "version":
		fmt.Fprintf(stdout, "cmux %s (100) [7652d3b1c]\n", version)
		return 0
	}
	if err := inv.run(); err != nil {
		fmt.Fprintf(stderr, "Error: %v\n", err)
		return 1
	}
	return 0
}

func (inv *invocation) parse(args []string) error {
	for len(args) > 0 {
		value := func() string {
			if len(args) < 2 {
				return ""
			}
			args = args[1:]
			return args[0]
		}
		switch a := args[0]; {
		case a == "--socket":
			inv.socket = value()
		case a == "--json":
			inv.json = true
		case a == "--id-format":
			inv.idForm = value()
			if inv.idForm != "refs" && inv.idForm != "uuids" && inv.idForm != "both" {
				return fmt.Errorf("--id-format must be one of: refs, uuids, both")
			}
		case inv.command == "":
			inv.command = a
		default:
			inv.args = append(inv.args, a)
		}
		args = args[1:]
	}
	if inv.socket == "" {
		path, old := inv.getenv("CMUX_SOCKET_PATH"), inv.getenv("CMUX_SOCKET")
		if path != "" && old != "" && path != old {
			return fmt.Errorf("Refusing to choose socket: CMUX_SOCKET_PATH and CMUX_SOCKET differ.")
		}
		inv.socket = path + map[bool]string{true: old}[path == ""]
	}
	return nil
}

// flags reads the flags of a command; the rest are words.
func (inv *invocation) flags() (map[string]string, []string) {
	flags, words := map[string]string{}, []string{}
	for i := 0; i < len(inv.args); i++ {
		a := inv.args[i]
		name, isFlag := strings.CutPrefix(a, "--")
		switch {
		case a == "--":
			return flags, append(words, inv.args[i+1:]...)
		case isFlag && (name == "scrollback" || name == "all" || name == "no-caller"):
			flags[name] = "true"
		case isFlag && i+1 < len(inv.args):
			i++
			flags[name] = inv.args[i]
		default:
			words = append(words, a)
		}
	}
	return flags, words
}

func (inv *invocation) run() error {
	flags, words := inv.flags()
	params := inv.target(flags)
	switch inv.command {
	case "ping":
		if _, err := inv.call("system.ping", nil); err != nil {
			return err
		}
		fmt.Fprintln(inv.stdout, "PONG")
		return nil
	case "rpc":
		return inv.rpc(words)
	case "identify":
		request := map[string]any{}
		if params["workspace_id"] != nil && params["surface_id"] != nil {
			request["caller"] = map[string]any{"workspace_id": params["workspace_id"], "surface_id": params["surface_id"]}
		}
		if name, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", inv.stdin.Fd())); err == nil && strings.HasPrefix(name, "/dev/") {
			request["caller_tty"] = strings.TrimPrefix(name, "/dev/")
		}
		inv.json = true
		return inv.show("system.identify", request)
	case "capabilities":
		inv.json = true
		return inv.show("system.capabilities", nil)
	case "new-split":
		if len(words) != 1 {
			return fmt.Errorf("new-split requires a direction")
		}
		params["direction"] = map[string]string{"l": "left", "r": "right", "u": "up", "d": "down"}[words[0]]
		if params["direction"] == "" {
			params["direction"] = words[0]
		}
		params["focus"] = flags["focus"] == "true"
		if text := flags["command"]; text != "" {
			params["initial_input"] = text + "\r"
		}
		return inv.show("surface.split", params)
	case "respawn-pane":
		command := flags["command"]
		if command == "" {
			command = strings.Join(words, " ")
		}
		params["command"] = "/bin/sh -c '" + strings.ReplaceAll(command, "'", `'\''`) + "'"
		return inv.show("surface.respawn", params)
	case "close-surface":
		return inv.show("surface.close", params)
	case "list-panes":
		return inv.show("pane.list", params)
	case "list-panels":
		return inv.show("surface.list", params)
	case "tree":
		inv.json = true
		return inv.show("system.tree", map[string]any{"all_windows": flags["all"] == "true"})
	case "send":
		if len(words) == 0 {
			return fmt.Errorf("send requires text")
		}
		params["text"] = strings.NewReplacer(`\n`, "\r", `\r`, "\r", `\t`, "\t", "\n", "\r").Replace(strings.Join(words, " "))
		return inv.show("surface.send_text", params)
	case "read-screen", "capture-pane":
		return inv.readScreen(params, flags["lines"])
	case "rename-tab":
		params["action"], params["title"] = "rename", flags["title"]
		if flags["title"] == "" {
			params["title"] = strings.Join(words, " ")
		}
		return inv.show("tab.action", params)
	case "set-status", "clear-status", "set-progress", "clear-progress", "log", "list-status":
		return inv.sidebar(flags, words)
	}
	return fmt.Errorf("Unknown command '%s'", inv.command)
}

// target fills ids from flags or, where none is given, from the environment.
func (inv *invocation) target(flags map[string]string) map[string]any {
	params := map[string]any{}
	for flag, key := range map[string]string{"workspace": "workspace_id", "surface": "surface_id", "panel": "surface_id", "window": "window_id"} {
		if v := flags[flag]; v != "" {
			params[key] = v
		}
	}
	if len(params) == 0 {
		for variable, key := range map[string]string{"CMUX_WORKSPACE_ID": "workspace_id", "CMUX_SURFACE_ID": "surface_id"} {
			if v := inv.getenv(variable); v != "" {
				params[key] = v
			}
		}
	}
	return params
}

func (inv *invocation) rpc(words []string) error {
	if len(words) == 0 {
		return fmt.Errorf("rpc requires a method")
	}
	params := map[string]any{}
	if len(words) > 1 {
		if err := json.Unmarshal([]byte(words[1]), &params); err != nil {
			return fmt.Errorf("rpc params must be valid JSON: %v", err)
		}
	}
	inv.json, inv.idForm = true, "both"
	return inv.show(words[0], params)
}

func (inv *invocation) readScreen(params map[string]any, lines string) error {
	if lines != "" {
		n, err := strconv.Atoi(lines)
		if err != nil || n <= 0 {
			return fmt.Errorf("--lines must be greater than 0")
		}
		params["lines"] = n
	}
	result, err := inv.call("surface.read_text", params)
	if err != nil {
		return err
	}
	fmt.Fprintln(inv.stdout, result["text"])
	return nil
}

func (inv *invocation) sidebar(flags map[string]string, words []string) error {
	line := strings.ReplaceAll(inv.command, "-", "_")
	tab := flags["workspace"]
	if tab == "" {
		tab = inv.getenv("CMUX_WORKSPACE_ID")
	}
	line += " --tab=" + tab
	if inv.command == "log" {
		line += " --"
	}
	answer, err := inv.send(line + " " + strings.Join(words, " "))
	if err != nil {
		return err
	}
	if strings.HasPrefix(answer, "ERROR") {
		return fmt.Errorf("%s", answer)
	}
	fmt.Fprintln(inv.stdout, answer)
	return nil
}

// show prints the result of a call.
func (inv *invocation) show(method string, params map[string]any) error {
	result, err := inv.call(method, params)
	if err != nil {
		return err
	}
	if inv.json {
		e := json.NewEncoder(inv.stdout)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		return e.Encode(reduce(result, inv.idForm))
	}
	line := "OK"
	for _, kind := range []string{"surface", "workspace"} {
		if ref, ok := result[kind+"_ref"].(string); ok {
			line += " " + ref
		}
	}
	fmt.Fprintln(inv.stdout, line)
	return nil
}

// reduce leaves ids or refs out of a result.
func reduce(v any, form string) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, value := range v {
			isRef := key == "ref" || strings.HasSuffix(key, "_ref") || strings.HasSuffix(key, "_refs")
			isID := key == "id" || strings.HasSuffix(key, "_id") || strings.HasSuffix(key, "_ids")
			if (isRef && form == "uuids") || (isID && form == "refs") {
				continue
			}
			out[key] = reduce(value, form)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = reduce(v[i], form)
		}
		return out
	}
	return v
}

func (inv *invocation) call(method string, params map[string]any) (map[string]any, error) {
	if params == nil {
		params = map[string]any{}
	}
	data, err := json.Marshal(map[string]any{"id": "1", "method": method, "params": params})
	if err != nil {
		return nil, err
	}
	answer, err := inv.send(string(data))
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(answer, "{") {
		return nil, fmt.Errorf("%s", answer)
	}
	var res struct {
		OK     bool           `json:"ok"`
		Result map[string]any `json:"result"`
		Error  struct {
			Code    string `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	if err := json.Unmarshal([]byte(answer), &res); err != nil {
		return nil, err
	}
	if !res.OK {
		return nil, fmt.Errorf("%s: %s", res.Error.Code, res.Error.Message)
	}
	return res.Result, nil
}

// send writes one line on a short connection and reads the answer.
func (inv *invocation) send(line string) (string, error) {
	if _, err := os.Stat(inv.socket); err != nil {
		return "", fmt.Errorf("Socket not found at %s", inv.socket)
	}
	conn, err := net.DialTimeout("unix", inv.socket, time.Second)
	if err != nil {
		return "", fmt.Errorf("Failed to connect to socket at %s (%v)", inv.socket, err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(15 * time.Second))
	prefix := ""
	if token := inv.getenv("CMUX_SOCKET_CAPABILITY"); token != "" {
		prefix = "_cmux_capability_v1 " + token + " "
	}
	reader := bufio.NewReader(conn)
	if password := inv.getenv("CMUX_SOCKET_PASSWORD"); password != "" {
		// A server that wants none says that it does not know the command.
		if _, err := fmt.Fprintf(conn, "%sauth %s\n", prefix, password); err != nil {
			return "", fmt.Errorf("Failed to write to socket (%v)", err)
		}
		if answer, err := reader.ReadString('\n'); err != nil || strings.HasPrefix(answer, "ERROR: Invalid") {
			return "", fmt.Errorf("%s", strings.TrimSpace(answer))
		}
	}
	if _, err := fmt.Fprintf(conn, "%s%s\n", prefix, line); err != nil {
		return "", fmt.Errorf("Failed to write to socket (%v)", err)
	}
	answer, err := reader.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("Command timed out")
	}
	return strings.TrimRight(answer, "\n"), nil
}
