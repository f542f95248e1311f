package orlop

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/spf13/pflag"

	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/util/compatibility"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
)

// Flags are the values of flags by name; several values repeat the flag.
type Flags map[string][]string

// ownFlags are not read from flag sets: Start and SetVersions set them, or they belong to the test's process.
var ownFlags = []string{
	"cert-dir", "emulated-version", "feature-gates", "min-compatibility-version", "secure-port", "v", "vmodule",
}

// Set sets a flag to one value.
func (f Flags) Set(name, value string) { f[name] = []string{value} }

// Read returns the values of all flags of the sets.
func Read(sets ...*pflag.FlagSet) Flags {
	flags := Flags{}
	for _, set := range sets {
		set.VisitAll(func(flag *pflag.Flag) {
			if !slices.Contains(ownFlags, flag.Name) {
				flags[flag.Name] = values(flag)
			}
		})
	}
	return flags
}

// AddChanged adds the flags whose values are not those of the defaults.
func (f Flags) AddChanged(defaults, current Flags) {
	for name, values := range current {
		if !slices.Equal(values, defaults[name]) {
			f[name] = values
		}
	}
}

// SetVersions sets the flags of the versions and feature gates that the test has set in its process.
func (f Flags) SetVersions() {
	gate := utilfeature.DefaultMutableFeatureGate
	defaults := compatibility.DefaultKubeEffectiveVersionForTest()
	setVersion := func(name string, current, standard *version.Version) {
		if current != nil && !current.EqualTo(standard) {
			f.Set(name, fmt.Sprintf("%d.%d", current.Major(), current.Minor()))
		}
	}
	setVersion("emulated-version", gate.EmulationVersion(), defaults.EmulationVersion())
	if emulated := gate.EmulationVersion(); emulated != nil && emulated.Minor() > 0 {
		if least := gate.MinCompatibilityVersion(); least != nil && !least.EqualTo(emulated.SubtractMinor(1)) {
			setVersion("min-compatibility-version", least, defaults.MinCompatibilityVersion())
		}
	}
	if changed := changedGates(gate.GetAll()); len(changed) > 0 {
		sort.Strings(changed)
		f.Set("feature-gates", strings.Join(changed, ","))
	}
}

// changedGates returns the feature gates that do not have their default. If all gates of a stage have one value, the gate of
// the whole stage is named in their place.
func changedGates(all map[featuregate.Feature]featuregate.FeatureSpec) []string {
	stages := map[featuregate.Feature]struct{ Stage any }{"AllAlpha": {featuregate.Alpha}, "AllBeta": {featuregate.Beta}}
	var changed []string
	for whole, stage := range stages {
		var names []string
		values := map[bool]bool{}
		for feature, specification := range all {
			if _, isWhole := stages[feature]; isWhole || any(specification.PreRelease) != stage.Stage {
				continue
			}
			enabled := utilfeature.DefaultFeatureGate.Enabled(feature)
			values[enabled] = true
			if enabled != specification.Default {
				names = append(names, fmt.Sprintf("%s=%v", feature, enabled))
			}
		}
		if len(names) > 0 && len(values) == 1 {
			names = []string{fmt.Sprintf("%s=%v", whole, values[true])}
		}
		changed = append(changed, names...)
	}
	for feature, specification := range all {
		if specification.PreRelease == featuregate.Alpha || specification.PreRelease == featuregate.Beta {
			continue
		}
		if enabled := utilfeature.DefaultFeatureGate.Enabled(feature); enabled != specification.Default {
			changed = append(changed, fmt.Sprintf("%s=%v", feature, enabled))
		}
	}
	return changed
}

// values returns what has to be written after the flag's name for its current value.
func values(flag *pflag.Flag) []string {
	text := flag.Value.String()
	slice, isSlice := flag.Value.(pflag.SliceValue)
	switch {
	case isSlice && flag.Value.Type() == "stringArray":
		return slice.GetSlice()
	case isSlice:
		return []string{strings.Join(slice.GetSlice(), ",")}
	case flag.Value.Type() == "namedCertKey":
		list := strings.Trim(text, "[]")
		if list == "" {
			return nil
		}
		return strings.Split(list, ";")
	case flag.Name == "oidc-required-claim":
		return strings.Split(text, ",")
	case strings.HasPrefix(text, "[") && strings.HasSuffix(text, "]"):
		return []string{strings.ReplaceAll(strings.Trim(text, "[]"), " ", ",")}
	}
	return []string{text}
}
