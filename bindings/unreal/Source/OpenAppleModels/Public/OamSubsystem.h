// Characters for Blueprints: one bridge for each game instance, pumped in each frame.
#pragma once

#include "Containers/Ticker.h"
#include "CoreMinimal.h"
#include "Subsystems/GameInstanceSubsystem.h"

#include "OamSubsystem.generated.h"

namespace oam
{
class Bridge;
}
struct FOamState;

/** What a character says. */
USTRUCT(BlueprintType)
struct OPENAPPLEMODELS_API FOamReply
{
    GENERATED_BODY()

    UPROPERTY(BlueprintReadOnly, Category = "Open Apple Models")
    FString Line;

    UPROPERTY(BlueprintReadOnly, Category = "Open Apple Models")
    FString Emotion;

    /** What the player could answer. */
    UPROPERTY(BlueprintReadOnly, Category = "Open Apple Models")
    TArray<FString> PlayerOptions;

    UPROPERTY(BlueprintReadOnly, Category = "Open Apple Models")
    bool bEndsConversation = false;

    /** How the character feels about the player, -100 to 100. */
    UPROPERTY(BlueprintReadOnly, Category = "Open Apple Models")
    int32 Relationship = 0;

    /** The model was blocked, and this is a fallback line. */
    UPROPERTY(BlueprintReadOnly, Category = "Open Apple Models")
    bool bIsFallback = false;
};

DECLARE_DYNAMIC_MULTICAST_DELEGATE_TwoParams(FOamLine, const FString&, Npc, const FString&, LineSoFar);
DECLARE_DYNAMIC_MULTICAST_DELEGATE_TwoParams(FOamEmotion, const FString&, Npc, const FString&, Emotion);
DECLARE_DYNAMIC_MULTICAST_DELEGATE_TwoParams(FOamReplied, const FString&, Npc, const FOamReply&, Reply);
DECLARE_DYNAMIC_MULTICAST_DELEGATE_ThreeParams(FOamFailed, const FString&, Npc, const FString&, Error, const FString&, Message);
DECLARE_DYNAMIC_MULTICAST_DELEGATE_FourParams(FOamToolCalled, const FString&, CallId, const FString&, Tool, const FString&, Npc, const FString&, ArgumentsJson);
DECLARE_DYNAMIC_MULTICAST_DELEGATE_OneParam(FOamToolCancelled, const FString&, CallId);
DECLARE_DYNAMIC_MULTICAST_DELEGATE_ThreeParams(FOamResponded, const FString&, RequestId, bool, bSucceeded, const FString&, Json);

/**
 * Characters that talk and ask the game for facts. Everything happens on the game thread. JSON goes in and out as text; in C++,
 * GetBridge() offers all that open_apple_models.hpp has.
 */
UCLASS()
class OPENAPPLEMODELS_API UOamSubsystem : public UGameInstanceSubsystem
{
    GENERATED_BODY()

public:
    virtual void Initialize(FSubsystemCollectionBase& Collection) override;
    virtual void Deinitialize() override;

    /** For C++; valid between Initialize and Deinitialize. */
    oam::Bridge& GetBridge() const;

    /** A tool that characters may be given; without a schema it has no parameters. OnToolCalled is told of each call, and AnswerTool or FailTool answers it. */
    UFUNCTION(BlueprintCallable, Category = "Open Apple Models")
    void RegisterTool(const FString& Name, const FString& Description, const FString& ParametersSchemaJson);

    /** What the model sees: JSON, or nothing. */
    UFUNCTION(BlueprintCallable, Category = "Open Apple Models")
    void AnswerTool(const FString& CallId, const FString& OutputJson);

    /** The model is told, and may try something else. */
    UFUNCTION(BlueprintCallable, Category = "Open Apple Models")
    void FailTool(const FString& CallId, const FString& Message);

    /** Makes a character: params of npc/create as JSON ("persona", "tools", "options", "world", "model"). OnFailed tells of mistakes. */
    UFUNCTION(BlueprintCallable, Category = "Open Apple Models")
    void CreateNpc(const FString& Npc, const FString& ParamsJson);

    /** Says a line; OnLine, OnEmotion and then OnReplied or OnFailed follow. Situation is what happens right now, and may be empty. */
    UFUNCTION(BlueprintCallable, Category = "Open Apple Models")
    void Talk(const FString& Npc, const FString& Line, const FString& Situation);

    /** Cancels what the character is about to say: OnFailed tells "cancelled". */
    UFUNCTION(BlueprintCallable, Category = "Open Apple Models")
    void Cancel(const FString& Npc);

    /** Any request of the protocol; returns its id, and OnResponded follows with the result, or the error as JSON. */
    UFUNCTION(BlueprintCallable, Category = "Open Apple Models")
    FString Request(const FString& Method, const FString& ParamsJson);

    UPROPERTY(BlueprintAssignable, Category = "Open Apple Models")
    FOamLine OnLine;

    UPROPERTY(BlueprintAssignable, Category = "Open Apple Models")
    FOamEmotion OnEmotion;

    UPROPERTY(BlueprintAssignable, Category = "Open Apple Models")
    FOamReplied OnReplied;

    UPROPERTY(BlueprintAssignable, Category = "Open Apple Models")
    FOamFailed OnFailed;

    UPROPERTY(BlueprintAssignable, Category = "Open Apple Models")
    FOamToolCalled OnToolCalled;

    UPROPERTY(BlueprintAssignable, Category = "Open Apple Models")
    FOamToolCancelled OnToolCancelled;

    UPROPERTY(BlueprintAssignable, Category = "Open Apple Models")
    FOamResponded OnResponded;

private:
    bool Pump(float DeltaTime);

    TSharedPtr<FOamState> State;
    FTSTicker::FDelegateHandle Ticker;
};
