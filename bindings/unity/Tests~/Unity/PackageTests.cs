using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Text.RegularExpressions;

namespace OpenAppleModels.Tests
{
    /// <summary>The package as files: what Unity would generate must be there, and the same for everybody.</summary>
    public static class PackageTests
    {
        private static readonly string Root = Environment.GetEnvironmentVariable("OAM_UNITY_PACKAGE");

        [Test]
        public static void WhatUnitySeesHasAMetaFileAndNoMetaFileIsLeftOver()
        {
            List<string> seen = Seen(Root).Concat(Seen(Path.Combine(Root, "Samples~"))).ToList();
            foreach (string entry in seen)
            {
                Check.That(entry.EndsWith(".meta")
                    ? File.Exists(WithoutMeta(entry)) || Directory.Exists(WithoutMeta(entry))
                    : File.Exists(entry + ".meta"), entry + " has its counterpart");
            }
        }

        [Test]
        public static void EveryMetaFileHasAnIdOfItsOwn()
        {
            List<string> ids = Directory.GetFiles(Root, "*.meta", SearchOption.AllDirectories)
                .Select(file => Regex.Match(File.ReadAllText(file), "^fileFormatVersion: 2\nguid: ([0-9a-f]{32})\n").Groups[1].Value)
                .ToList();
            Check.That(ids.Count > 10 && ids.All(id => id != ""), "all have an id");
            Check.Equal(ids.Count, ids.Distinct().Count(), "different ids");
        }

        [Test]
        public static void TheManifestNamesThePackageAndItsSample()
        {
            object manifest = Json.Parse(File.ReadAllText(Path.Combine(Root, "package.json")));
            Check.Equal("com.open-apple-models.unity", manifest.Get("name"));
            Check.Equal(OamBridge.Version, manifest.Get("version"), "the library's version");
            string sample = (string)manifest.Get("samples", 0, "path");
            Check.That(Directory.Exists(Path.Combine(Root, sample)), sample + " is there");
        }

        [Test]
        public static void AssemblyDefinitionsAreNamedLikeTheirFiles()
        {
            string[] definitions = Directory.GetFiles(Root, "*.asmdef", SearchOption.AllDirectories);
            Check.That(definitions.Length > 0, "there are some");
            foreach (string file in definitions)
            {
                Check.Equal(Path.GetFileNameWithoutExtension(file), Json.Parse(File.ReadAllText(file)).Get("name"));
            }
        }

        /// <summary>Files and folders that Unity imports: not those that end in ~ or begin with a dot, nor what is in them.</summary>
        private static IEnumerable<string> Seen(string folder)
        {
            foreach (string entry in Directory.GetFileSystemEntries(folder))
            {
                string name = Path.GetFileName(entry);
                if (name.EndsWith("~") || name.StartsWith("."))
                {
                    continue;
                }
                yield return entry;
                if (Directory.Exists(entry))
                {
                    foreach (string inside in Seen(entry))
                    {
                        yield return inside;
                    }
                }
            }
        }

        private static string WithoutMeta(string file) => file.Substring(0, file.Length - ".meta".Length);
    }
}
