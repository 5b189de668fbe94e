"""The words of the companion in both languages: its instruction to the model, and what it says itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from memorybank.text.language import Language

TODAY = "{today}"
"""Stands for the date in a system prompt."""

SYSTEM: Mapping[Language, str] = {
    "en": (
        "You are a companion who remembers. Talk with the user warmly and plainly, in the user's language, in a few "
        "sentences. Below there may be memories of earlier conversations: use what helps and leave out the rest. "
        "If they do not tell, say that you do not remember; never invent a memory. Today is {today}."
    ),
    "zh": (
        "你是一位有记忆的伙伴。用用户的语言交谈，亲切、平实，几句话即可。"
        "下面可能有以往对话的记忆：用得上的就用，用不上的略过。"
        "记忆里没有的，就说不记得，绝不要编造。今天是{today}。"
    ),
}


@dataclass(frozen=True, slots=True)
class Wording:
    """``{…}`` fields are filled in, numbers as ``Count``."""

    greeting: str
    no_model: str
    failed: str
    empty: str
    stopped: str
    recalled: str
    nothing: str
    pinned: str
    unpinned: str
    restored: str
    corrected: str
    remembered: str
    exported: str
    deleted: str
    undone: str
    no_turn: str
    left: str
    forgotten: str
    archives_nothing: str
    marked: str
    no_portrait: str
    no_events: str
    digest: str
    sure_delete: str
    sure_replace: str
    yes: tuple[str, ...]
    unknown: str
    needs: str
    finishing: str
    bye: str
    help: str


WORDINGS: Mapping[Language, Wording] = {
    "en": Wording(
        greeting="Talking with {owner}'s memory, session {session}. /help shows the commands, /quit ends.",
        no_model=(
            "No model is set: your words are kept and what fits is recalled, but nobody answers. Set one with "
            "--model openai:NAME or ollama:NAME (LangChain), --url http://host:port --model NAME (an "
            "OpenAI-compatible server), or --model package.module:function."
        ),
        failed="no answer: {reason}. Your words are kept.",
        empty="the model gave no text",
        stopped="stopped; what was said so far is kept",
        recalled="recalled",
        nothing="nothing recalled; what this session said is in its window, not recalled from memory",
        pinned="pinned: {n}",
        unpinned="unpinned: {n}",
        restored="restored: {n}",
        corrected="corrected: {id}, version {version}",
        remembered="remembered: {id}",
        exported="{n:line|lines} written to {path}",
        deleted="deleted: {memories:memory|memories}, {messages:message|messages}",
        undone="taken back and forgotten: {messages:message|messages}, {memories:memory|memories}",
        no_turn="there is no turn to take back",
        left="nothing was changed",
        forgotten="{archived} archived, {purged} purged, {kept} kept",
        archives_nothing="This policy archives nothing; --policy companion lets the unused fade.",
        marked="marked: when this message leaves the window, the digest is written anew",
        no_portrait="no portrait yet: it is written once a day is over",
        no_events="no summary yet: it is written once a day is over",
        digest="What came before:",
        sure_delete="Destroy {n:memory|memories} for good? [y/N] ",
        sure_replace="{path} is there already. Replace it? [y/N] ",
        yes=("y", "yes"),
        unknown="there is no command {command}; /help shows all (begin with // to say a slash)",
        needs="{command} needs {what}",
        finishing="finishing what is being written…",
        bye="Goodbye.",
        help=(
            "/why                what was recalled last, with the parts of the scores\n"
            "/pin N…  /unpin N…  keep from fading (N: its number in the last recall, or its id)\n"
            "/correct N TEXT     put a memory right\n"
            "/remember TEXT      keep a note\n"
            "/forget             archive what has faded\n"
            "/forget N…          destroy memories (asks)\n"
            "/restore ID…        bring archived memories back\n"
            "/undo               take the last turn back: it is forgotten as well\n"
            "/again              the last turn answered anew\n"
            "/portrait [DAY]     what is known of you\n"
            "/events [DAY]       what happened\n"
            "/window             this conversation as the model sees it\n"
            "/mark               the message just said must reach the digest\n"
            "/export FILE        write everything to a file\n"
            "/quit"
        ),
    ),
    "zh": Wording(
        greeting="正在与{owner}的记忆对话，会话：{session}。/help 查看命令，/quit 结束。",
        no_model=(
            "没有设置模型：你说的话会保存，也会回忆相关内容，但没有人回答。设置方法："
            "--model openai:名称 或 ollama:名称（LangChain），--url http://主机:端口 --model 名称"
            "（兼容 OpenAI 的服务器），或 --model 包.模块:函数。"
        ),
        failed="没有得到回答：{reason}。你的话已保存。",
        empty="模型没有给出文字",
        stopped="已停止；说到这里的内容已保存",
        recalled="回忆",
        nothing="没有回忆起什么；本次谈话说过的在窗口里，不必从记忆中回忆",
        pinned="已固定：{n}",
        unpinned="已取消固定：{n}",
        restored="已恢复：{n}",
        corrected="已更正：{id}，第 {version} 版",
        remembered="已记住：{id}",
        exported="已写入 {n} 行：{path}",
        deleted="已删除：记忆 {memories} 条，消息 {messages} 条",
        undone="已撤回并忘掉：消息 {messages} 条，记忆 {memories} 条",
        no_turn="没有可以撤回的对话",
        left="没有改动",
        forgotten="归档 {archived} 条，清除 {purged} 条，保留 {kept} 条",
        archives_nothing="此策略不归档任何内容；--policy companion 会让不用的记忆淡去。",
        marked="已标记：这条消息离开窗口时，会重写前情",
        no_portrait="还没有画像：一天结束后才会写",
        no_events="还没有摘要：一天结束后才会写",
        digest="前情：",
        sure_delete="彻底删除 {n} 条记忆？[y/N] ",
        sure_replace="{path} 已存在，要替换吗？[y/N] ",
        yes=("y", "yes", "是", "好"),
        unknown="没有命令 {command}；/help 查看全部（以 // 开头可以说出斜杠）",
        needs="{command} 需要{what}",
        finishing="正在写完手头的内容……",
        bye="再见。",
        help=(
            "/why                上次回忆的内容及各项得分\n"
            "/pin N…  /unpin N…  不让它淡去（N：上次回忆中的序号，或编号）\n"
            "/correct N 文字     更正一条记忆\n"
            "/remember 文字      记下备忘\n"
            "/forget             归档已经淡去的记忆\n"
            "/forget N…          彻底删除（会先询问）\n"
            "/restore 编号…      恢复已归档的记忆\n"
            "/undo               撤回上一轮，记忆也随之删除\n"
            "/again              重新回答上一轮\n"
            "/portrait [日期]    对你的了解\n"
            "/events [日期]      发生过的事\n"
            "/window             模型看到的本次对话\n"
            "/mark               刚说的话必须写进前情\n"
            "/export 文件        导出全部内容\n"
            "/quit               结束"
        ),
    ),
}
