using System.IO;
using UnrealBuildTool;

/// Links the library that `install` has put into ThirdParty, and ships it with the game.
public class OpenAppleModels : ModuleRules
{
    public OpenAppleModels(ReadOnlyTargetRules Target) : base(Target)
    {
        PCHUsage = PCHUsageMode.UseExplicitOrSharedPCHs;
        PublicDependencyModuleNames.AddRange(new string[] { "Core", "CoreUObject", "Engine" });

        string Plugin = Path.GetFullPath(Path.Combine(ModuleDirectory, "..", ".."));
        PublicSystemIncludePaths.Add(Path.Combine(Plugin, "include"));

        string Name = Target.Platform == UnrealTargetPlatform.Mac ? "libOpenAppleModelsFFI.dylib" : "libOpenAppleModelsFFI.so";
        string Library = Path.Combine(Plugin, "ThirdParty", Name);
        PublicAdditionalLibraries.Add(Library);
        RuntimeDependencies.Add("$(BinaryOutputDir)/" + Name, Library);

        // Models run in a process of their own, whose program is looked for beside the library.
        string Worker = Path.Combine(Plugin, "ThirdParty", "oam-worker-swift");
        if (File.Exists(Worker))
        {
            RuntimeDependencies.Add("$(BinaryOutputDir)/oam-worker-swift", Worker);
        }
    }
}
