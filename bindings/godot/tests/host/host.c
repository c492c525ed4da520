/* Loads a GDExtension the way Godot 4.2 does, and prints what it registers: one line each, words apart by tabs.
 *
 *     class OamNpc Node | method OamNpc talk 1 0 | signal OamNpc delta 1 | property OamNpc role
 *
 * A method's numbers are its parameters and how many of them have defaults. Of the engine there is only as much as an
 * extension needs to start: names, and functions that do nothing.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void (*function)(void);

typedef struct { uint32_t major, minor, patch; const char *string; } version;
typedef struct { uint32_t type; void *name, *class_name; uint32_t hint; void *hint_string; uint32_t usage; } property_info;
typedef struct {
    void *name, *userdata;
    function call, ptrcall;
    uint32_t flags;
    uint8_t has_return_value;
    property_info *return_value;
    uint32_t return_metadata;
    uint32_t argument_count;
    property_info *arguments;
    void *arguments_metadata;
    uint32_t default_argument_count;
    void **default_arguments;
} method_info;
typedef struct {
    uint32_t minimum_level;
    void *userdata;
    void (*initialize)(void *, uint32_t);
    void (*deinitialize)(void *, uint32_t);
} initialization;

static int registered_classes, problems;

/* Texts: a String or StringName holds a pointer to its characters, which live as long as the program. */

static const char *text_of(const void *name) {
    const char *text = *(const char *const *)name;
    return text ? text : "";
}

static void set_text(const void **to, const char *from, int64_t length) {
    char *text = malloc((size_t)length + 1);
    memcpy(text, from, (size_t)length);
    text[length] = 0;
    *to = text;
}

static void new_text(const void **to, const char *from) { set_text(to, from, (int64_t)strlen(from)); }
static void new_text_of_length(const void **to, const char *from, int64_t length) { set_text(to, from, length); }

static int64_t text_to_chars(const void *text, char *to, int64_t room) {
    const char *from = text_of(text);
    int64_t length = (int64_t)strlen(from);
    if (to) memcpy(to, from, (size_t)(length < room ? length : room));
    return length;
}

/* Values: all are copied as far as a pointer goes; a variant is its type and that. */

static void construct(void **to, void *const **from) { *to = from && from[0] ? *from[0] : NULL; }
static function constructor(void) { return (function)construct; }

static void variant_from(uint64_t *variant, const uint64_t *value) { variant[0] = 0; variant[1] = *value; }
static function from_type(void) { return (function)variant_from; }

static void value_from(uint64_t *value, const uint64_t *variant) { *value = variant[1]; }
static function to_type(void) { return (function)value_from; }

static void new_nil(uint64_t *variant) { variant[0] = variant[1] = variant[2] = 0; }
static void copy_variant(uint64_t *to, const uint64_t *from) { memcpy(to, from, 24); }

/* Methods of the engine answer false, 0 or null. It is one with floats of single precision, as almost all are. */

static const char *find_method(void *class_name, void *name, int64_t hash) {
    (void)class_name, (void)hash;
    return text_of(name);
}

static void call_method(const char *method, void *object, const void **arguments, uint8_t *result) {
    (void)object;
    if (result) *result = strcmp(method, "has_feature") == 0 && strcmp(text_of(arguments[0]), "single") == 0;
}

/* Everything else does nothing, and gives a function that does nothing where one is asked for. */

static function nothing(void) { return (function)nothing; }

/* What an extension registers. */

static void register_class(void *library, void *name, void *parent, void *info) {
    (void)library, (void)info;
    registered_classes++;
    printf("class\t%s\t%s\n", text_of(name), text_of(parent));
}

static void register_method(void *library, void *class_name, const method_info *method) {
    (void)library;
    printf("method\t%s\t%s\t%u\t%u\n", text_of(class_name), text_of(method->name), method->argument_count,
           method->default_argument_count);
}

static void register_signal(void *library, void *class_name, void *name, property_info *arguments, int64_t count) {
    (void)library, (void)arguments;
    printf("signal\t%s\t%s\t%d\n", text_of(class_name), text_of(name), (int)count);
}

static void register_property(void *library, void *class_name, property_info *info, void *setter, void *getter) {
    (void)library, (void)getter;
    printf("property\t%s\t%s\t%s\n", text_of(class_name), text_of(info->name), *text_of(setter) ? "rw" : "r");
}

static void unregister_class(void *library, void *name) {
    (void)library, (void)name;
    registered_classes--;
}

static void print_problem(const char *message, const char *in, const char *file, int32_t line, uint8_t notify) {
    (void)in, (void)notify;
    problems++;
    fprintf(stderr, "%s (%s:%d)\n", message, file, (int)line);
}

static void tell_version(version *version) {
    version->major = 4, version->minor = 2, version->patch = 2, version->string = "Godot Engine v4.2.2.stable";
}

static const struct { const char *name; function function; } functions[] = {
    {"get_godot_version", (function)tell_version},
    {"mem_alloc", (function)malloc},
    {"mem_realloc", (function)realloc},
    {"mem_free", (function)free},
    {"print_error", (function)print_problem},
    {"print_warning", (function)print_problem},
    {"print_script_error", (function)print_problem},
    {"string_new_with_latin1_chars", (function)new_text},
    {"string_new_with_utf8_chars", (function)new_text},
    {"string_new_with_latin1_chars_and_len", (function)new_text_of_length},
    {"string_new_with_utf8_chars_and_len", (function)new_text_of_length},
    {"string_to_latin1_chars", (function)text_to_chars},
    {"string_to_utf8_chars", (function)text_to_chars},
    {"string_name_new_with_latin1_chars", (function)new_text},
    {"string_name_new_with_utf8_chars", (function)new_text},
    {"string_name_new_with_utf8_chars_and_len", (function)new_text_of_length},
    {"variant_new_nil", (function)new_nil},
    {"variant_new_copy", (function)copy_variant},
    {"variant_get_ptr_constructor", (function)constructor},
    {"get_variant_from_type_constructor", (function)from_type},
    {"get_variant_to_type_constructor", (function)to_type},
    {"classdb_get_method_bind", (function)find_method},
    {"object_method_bind_ptrcall", (function)call_method},
    {"classdb_register_extension_class2", (function)register_class},
    {"classdb_register_extension_class_method", (function)register_method},
    {"classdb_register_extension_class_signal", (function)register_signal},
    {"classdb_register_extension_class_property", (function)register_property},
    {"classdb_unregister_extension_class", (function)unregister_class},
};

static function find_function(const char *name) {
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (strcmp(functions[i].name, name) == 0) return functions[i].function;
    return (function)nothing;
}

int main(int count, char **words) {
    if (count != 3) {
        fprintf(stderr, "usage: host LIBRARY ENTRY_SYMBOL\n");
        return 2;
    }
    void *library = dlopen(words[1], RTLD_NOW | RTLD_LOCAL);
    uint8_t (*enter)(function (*)(const char *), void *, initialization *) = NULL;
    if (library) *(void **)&enter = dlsym(library, words[2]);
    if (!enter) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    initialization extension = {0};
    int itself = 0;
    if (!enter(find_function, &itself, &extension)) {
        fprintf(stderr, "the extension refuses to start\n");
        return 1;
    }
    for (uint32_t level = 0; level <= 2; level++) extension.initialize(extension.userdata, level);
    fflush(stdout);
    for (uint32_t level = 3; level-- > 0;) extension.deinitialize(extension.userdata, level);
    if (registered_classes != 0) {
        fprintf(stderr, "%d classes are still registered\n", registered_classes);
        return 1;
    }
    return problems != 0;
}
