#include "OamSubsystem.h"

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "open_apple_models.hpp"

DEFINE_LOG_CATEGORY_STATIC(LogOpenAppleModels, Log, All);

struct FOamState
{
    oam::Bridge Bridge;
    /** Calls that wait for the game's answer. */
    std::map<std::string, oam::ToolReply> OpenCalls;

    /** A call that is about to be answered; nothing if nobody waits for it. */
    std::optional<oam::ToolReply> Take(const std::string& CallId)
    {
        const auto Found = OpenCalls.find(CallId);
        if (Found == OpenCalls.end())
        {
            return std::nullopt;
        }
        const oam::ToolReply Reply = Found->second;
        OpenCalls.erase(Found);
        return Reply;
    }
};

namespace
{
std::string ToUtf8(const FString& Text)
{
    return TCHAR_TO_UTF8(*Text);
}

FString FromUtf8(const std::string& Text)
{
    return FString(UTF8_TO_TCHAR(Text.c_str()));
}

FString ToText(const oam::Json& Value)
{
    const oam::Result<std::string> Text = oam::to_json(Value);
    return FromUtf8(Text ? *Text : Text.error().message);
}

/** JSON of the game; what is none is told by the error. Empty text is null. */
oam::Result<oam::Json> Parse(const FString& Text)
{
    if (Text.IsEmpty())
    {
        return oam::Json();
    }
    return oam::parse_json(ToUtf8(Text));
}

FOamReply ToReply(const oam::NpcReply& Said)
{
    FOamReply Reply;
    Reply.Line = FromUtf8(Said.line);
    Reply.Emotion = FromUtf8(Said.emotion);
    for (const std::string& Option : Said.player_options)
    {
        Reply.PlayerOptions.Add(FromUtf8(Option));
    }
    Reply.bEndsConversation = Said.ends_conversation;
    Reply.Relationship = Said.relationship;
    Reply.bIsFallback = Said.is_fallback;
    return Reply;
}
}

void UOamSubsystem::Initialize(FSubsystemCollectionBase& Collection)
{
    Super::Initialize(Collection);
    State = MakeShared<FOamState>();
    State->Bridge.on_problem([](const std::string& Problem) { UE_LOG(LogOpenAppleModels, Warning, TEXT("%s"), *FromUtf8(Problem)); });
    Ticker = FTSTicker::GetCoreTicker().AddTicker(FTickerDelegate::CreateUObject(this, &UOamSubsystem::Pump));
}

void UOamSubsystem::Deinitialize()
{
    FTSTicker::GetCoreTicker().RemoveTicker(Ticker);
    // Handlers refer to this object; none runs after this.
    State->Bridge.close();
    State.Reset();
    Super::Deinitialize();
}

oam::Bridge& UOamSubsystem::GetBridge() const
{
    return State->Bridge;
}

bool UOamSubsystem::Pump(float)
{
    State->Bridge.pump();
    return true;
}

void UOamSubsystem::RegisterTool(const FString& Name, const FString& Description, const FString& ParametersSchemaJson)
{
    const oam::Result<oam::Json> Parameters = Parse(ParametersSchemaJson);
    if (!Parameters)
    {
        UE_LOG(LogOpenAppleModels, Error, TEXT("Tool %s: %s"), *Name, *FromUtf8(Parameters.error().message));
        return;
    }
    State->Bridge.register_later_tool({ToUtf8(Name), ToUtf8(Description), *Parameters},
        [this](const oam::ToolCall& Call, const oam::ToolReply& Reply)
        {
            State->OpenCalls.insert({Call.id, Reply});
            Reply.on_cancel([this, Id = Call.id]
            {
                State->OpenCalls.erase(Id);
                OnToolCancelled.Broadcast(FromUtf8(Id));
            });
            OnToolCalled.Broadcast(FromUtf8(Call.id), FromUtf8(Call.name), FromUtf8(Call.npc), ToText(Call.arguments));
        });
}

void UOamSubsystem::AnswerTool(const FString& CallId, const FString& OutputJson)
{
    const std::optional<oam::ToolReply> Reply = State->Take(ToUtf8(CallId));
    if (!Reply)
    {
        return;
    }
    const oam::Result<oam::Json> Output = Parse(OutputJson);
    if (Output)
    {
        Reply->ok(*Output);
    }
    else
    {
        Reply->error("The tool's output is no JSON: " + Output.error().message);
    }
}

void UOamSubsystem::FailTool(const FString& CallId, const FString& Message)
{
    if (const std::optional<oam::ToolReply> Reply = State->Take(ToUtf8(CallId)))
    {
        Reply->error(ToUtf8(Message));
    }
}

void UOamSubsystem::CreateNpc(const FString& Npc, const FString& ParamsJson)
{
    oam::Result<oam::Json> Params = Parse(ParamsJson);
    if (!Params)
    {
        OnFailed.Broadcast(Npc, TEXT("parse_error"), FromUtf8(Params.error().message));
        return;
    }
    Params->set("npc", ToUtf8(Npc));
    State->Bridge.create_npc(*Params, [this, Npc](const oam::Result<oam::Json>& Result)
    {
        if (!Result)
        {
            OnFailed.Broadcast(Npc, FromUtf8(Result.error().name), FromUtf8(Result.error().message));
            return;
        }
        for (const oam::Json& Warning : (*Result)["warnings"].items())
        {
            UE_LOG(LogOpenAppleModels, Warning, TEXT("%s: %s"), *Npc, *FromUtf8(Warning.as_string()));
        }
    });
}

void UOamSubsystem::Talk(const FString& Npc, const FString& Line, const FString& Situation)
{
    oam::TalkOptions Options;
    if (!Situation.IsEmpty())
    {
        Options.context = ToUtf8(Situation);
    }
    Options.on_line = [this, Npc](const std::string& LineSoFar) { OnLine.Broadcast(Npc, FromUtf8(LineSoFar)); };
    Options.on_emotion = [this, Npc](const std::string& Emotion) { OnEmotion.Broadcast(Npc, FromUtf8(Emotion)); };
    const auto Replied = [this, Npc](const oam::Result<oam::NpcReply>& Reply)
    {
        if (Reply)
        {
            OnReplied.Broadcast(Npc, ToReply(*Reply));
        }
        else
        {
            OnFailed.Broadcast(Npc, FromUtf8(Reply.error().name), FromUtf8(Reply.error().message));
        }
    };
    State->Bridge.npc(ToUtf8(Npc)).talk(ToUtf8(Line), Replied, std::move(Options));
}

void UOamSubsystem::Cancel(const FString& Npc)
{
    State->Bridge.npc(ToUtf8(Npc)).cancel();
}

FString UOamSubsystem::Request(const FString& Method, const FString& ParamsJson)
{
    const oam::Result<oam::Json> Params = Parse(ParamsJson);
    // oam answers text in the place of params, as it answers any other mistake.
    const oam::Json Given = Params ? *Params : oam::Json(ToUtf8(ParamsJson));
    const TSharedRef<FString> Id = MakeShared<FString>();
    *Id = FromUtf8(State->Bridge.request(ToUtf8(Method), Given, [this, Id](const oam::Result<oam::Json>& Result)
    {
        const oam::Json Error = Result ? oam::Json() : oam::Json::object({{"code", Result.error().name}, {"message", Result.error().message}});
        OnResponded.Broadcast(*Id, Result.ok(), ToText(Result ? *Result : Error));
    }));
    return *Id;
}
