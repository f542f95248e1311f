package dev.orlop.testing;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Reads the JSON of answers, so that this package needs no other one. */
final class Json {
    private static final Pattern TOKEN =
            Pattern.compile("\\s*([{}\\[\\]:,]|\"([^\"\\\\]*+(?:\\\\.[^\"\\\\]*+)*+)\"|true|false|null|-?\\d+(?:\\.\\d+)?(?:[eE][-+]?\\d+)?)");
    private static final Pattern ESCAPE = Pattern.compile("\\\\(?:u([0-9a-fA-F]{4})|(.))");

    private final Matcher tokens;
    private int start;

    private Json(String text) {
        tokens = TOKEN.matcher(text);
        next();
    }

    /**
     * Returns a value: a {@code Map}, a {@code List}, a {@code String}, or the text of a number or literal.
     *
     * @throws IllegalArgumentException if the text is not JSON
     */
    static Object parse(String text) {
        return new Json(text).value();
    }

    /** Returns the value at a path of names and indexes, or {@code null}. */
    static Object at(Object value, Object... path) {
        Object found = value;
        for (Object step : path) {
            if (found instanceof Map<?, ?> map) {
                found = map.get(step);
            } else if (found instanceof List<?> list && step instanceof Integer index && index < list.size()) {
                found = list.get(index);
            } else {
                return null;
            }
        }
        return found;
    }

    private void next() {
        if (!tokens.find() || tokens.start() != start) {
            throw new IllegalArgumentException("no JSON at " + start);
        }
        start = tokens.end();
    }

    private boolean is(String token) {
        return tokens.group(1).equals(token);
    }

    private Object value() {
        if (is("{")) {
            Map<String, Object> map = new LinkedHashMap<>();
            for (next(); !is("}"); skipComma("}")) {
                String name = text(tokens.group(2));
                next(); // the colon
                next();
                map.put(name, value());
            }
            return map;
        }
        if (is("[")) {
            List<Object> list = new ArrayList<>();
            for (next(); !is("]"); skipComma("]")) {
                list.add(value());
            }
            return list;
        }
        return tokens.group(2) != null ? text(tokens.group(2)) : tokens.group(1);
    }

    /** Leaves a value for the next one, or for the end of the list or object. */
    private void skipComma(String end) {
        next();
        if (!is(end)) {
            next();
        }
    }

    private static String text(String escaped) {
        return ESCAPE.matcher(escaped).replaceAll(found -> Matcher.quoteReplacement(unescaped(found.group(1), found.group(2))));
    }

    private static String unescaped(String code, String letter) {
        if (code != null) {
            return String.valueOf((char) Integer.parseInt(code, 16));
        }
        int control = "bfnrt".indexOf(letter);
        return control < 0 ? letter : "\b\f\n\r\t".substring(control, control + 1);
    }
}
