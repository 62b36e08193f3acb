package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"gopkg.in/yaml.v3"
)

// envPrefix begins the environment variable of a flag: --data-dir is
// SHOAL_DATA_DIR.
const envPrefix = "SHOAL_"

// fillFlags gives every flag that was not on the command line its value from
// the environment or, failing that, from the --config file: the nearer to the
// command the stronger. A key of the file that is no flag of the command is an
// error, since it is most likely a misspelt one.
func fillFlags(cmd *cobra.Command, getenv func(string) (string, bool)) error {
	flags := cmd.Flags()
	file, err := configFile(flags, getenv)
	if err != nil {
		return err
	}
	var errs []error
	flags.VisitAll(func(f *pflag.Flag) {
		value, source := file[f.Name], "the config file"
		delete(file, f.Name)
		if v, ok := getenv(envName(f.Name)); ok {
			value, source = []string{v}, envName(f.Name)
		}
		if f.Changed {
			return
		}
		for _, v := range value {
			if err := flags.Set(f.Name, v); err != nil {
				errs = append(errs, fmt.Errorf("%s of %s: %w", f.Name, source, err))
			}
		}
	})
	for key := range file {
		errs = append(errs, fmt.Errorf("the config file has %q, which is no setting of `%s`", key, cmd.CommandPath()))
	}
	return errors.Join(errs...)
}

func envName(flag string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// configFile reads the YAML file that --config or SHOAL_CONFIG names: flag
// names with scalars or lists of them.
func configFile(flags *pflag.FlagSet, getenv func(string) (string, bool)) (map[string][]string, error) {
	path, err := flags.GetString("config")
	if err != nil {
		return nil, err
	}
	if path == "" {
		path, _ = getenv(envName("config"))
	}
	if path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("config file: %w", err)
	}
	var nodes map[string]yaml.Node
	if err := yaml.Unmarshal(text, &nodes); err != nil {
		return nil, fmt.Errorf("config file %s: %w", path, err)
	}
	values := make(map[string][]string, len(nodes))
	for key, node := range nodes {
		switch node.Kind {
		case yaml.ScalarNode:
			values[key] = []string{node.Value}
		case yaml.SequenceNode:
			for _, item := range node.Content {
				values[key] = append(values[key], item.Value)
			}
		default:
			return nil, fmt.Errorf("config file %s: %q must be a value or a list of values", path, key)
		}
	}
	return values, nil
}
